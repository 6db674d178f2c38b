import { findOwnName } from "./own-names.ts";

export interface Subject {
  kind: string;
  apiGroup?: string | undefined;
  name: string;
  namespace?: string | undefined;
}

/** Whether a subject names a right that has ended. */
export type IsEnded = (subject: Subject) => boolean;

/** What is of a right that has ended in the bindings of a tenant cluster. */
export interface EndedRights {
  isEnded: IsEnded;
  /** Whether the ClusterRoleBinding of this name is Marina's own, of a right that has ended. */
  isLeftOver: (name: string) => boolean;
  /** Another one when another right has ended or begun. */
  revision: string;
}

/** What names Marina, and no right that is alive or may come back: names of groups, users and ServiceAccounts. */
export function isOfNoLiveRight(isKept: (name: string) => boolean): IsEnded {
  return (subject) => {
    const name = findOwnName(subject);
    return name !== undefined && !isKept(name);
  };
}

/** One access that was revoked, by its group and its account and, when its subject has no other, by its user name. */
export function isOfAccess(names: readonly string[], user: string | undefined): IsEnded {
  return (subject) => {
    const own = findOwnName(subject);
    if (own !== undefined) return names.includes(own);
    return subject.kind === "User" && user !== undefined && subject.name === user;
  };
}

/** The subjects that a binding keeps; undefined when it keeps all. */
export function findKeptSubjects(
  { subjects = [] }: { subjects?: Subject[] | undefined },
  isEnded: IsEnded,
): Subject[] | undefined {
  const kept = subjects.filter((subject) => !isEnded(subject));
  return kept.length === subjects.length ? undefined : kept;
}
