interface Place {
  orgId: string;
  ticketId: string;
  id: string;
}

/** Where the bytes are uploaded to. */
export function uploadKey(place: Place): string {
  return `quarantine/${pathOf(place)}`;
}

/** Where they are once they are verified. */
export function finalKey(place: Place): string {
  return `attachments/${pathOf(place)}`;
}

/** Ids alone: what people name their files is no part of a key. */
function pathOf({ orgId, ticketId, id }: Place): string {
  return `${orgId}/${ticketId}/${id}`;
}
