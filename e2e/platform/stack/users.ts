/** A person whom the local identity provider knows. The sub never changes: memberships hang on it. */
export interface User {
  name: UserName;
  sub: string;
  email: string;
  fullName: string;
  roles: readonly string[];
}

export const USER_NAMES = ["alice", "bob", "staff"] as const;

export type UserName = (typeof USER_NAMES)[number];

export const AUDIENCE = "marina";
export const TOKEN_LIFETIME_SECONDS = 12 * 3600;

/** Two tenants and one of the platform's people. */
export const USERS: Record<UserName, User> = {
  alice: {
    name: "alice",
    sub: "0b54ad2a-6f2f-4b57-9a3e-3c1f2a7d1a01",
    email: "alice@example.com",
    fullName: "Alice Example",
    roles: [],
  },
  bob: {
    name: "bob",
    sub: "5c6e0f0e-7d52-4d38-8a55-9be0f3a4b002",
    email: "bob@example.com",
    fullName: "Bob Example",
    roles: [],
  },
  staff: {
    name: "staff",
    sub: "9a7d3c48-1e0b-4f6c-8d21-6f5e4c3b2003",
    email: "staff@example.com",
    fullName: "Staff Example",
    roles: ["platform-admin"],
  },
};

/** Whether the text is the name of a user. */
export function isUserName(text: string | undefined): text is UserName {
  return USER_NAMES.some((name) => name === text);
}
