/** The media type of the document for people. */
export const PDF = "application/pdf";
