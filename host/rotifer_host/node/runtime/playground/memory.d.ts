/** The types of `ctx.memory`, for `import type { GeneMemoryAccess } from "@rotifer/playground/memory"`. */

export type MemoryCategory = "PREFERENCE" | "PATTERN" | "CONTEXT" | "CACHE";

export type MemoryScope = "CREATOR_GENE_ONLY" | "SAME_DOMAIN" | "ALL_GENES" | "DEPLOYER_CONFIGURED";

export type SharePolicy = "PRIVATE" | "ANONYMIZED_SHARE" | "KNOWLEDGE_GENE";

/** Who may read an entry, who may change or delete it, and whether it may leave the agent. */
export interface MemoryAccessPolicy {
  readScope: MemoryScope;
  writeScope: MemoryScope;
  sharePolicy: SharePolicy;
}

export interface RetentionPolicy {
  /** Whole days, 1 to 2147483647; null for no limit. */
  maxRetentionDays: number | null;
  autoDeleteOnTermination: boolean;
  anonymizationSupported: boolean;
}

export interface MemoryEntry {
  /** SHA-256 of the agent's id and the key. */
  entryId: string;
  category: MemoryCategory;
  key: string;
  value: Uint8Array;
  /** v2 id of the gene that created the entry. */
  createdBy: string;
  /** v2 id of the gene that last read or wrote it; queries do not change it. */
  lastAccessedBy: string;
  /** RFC 3339, UTC. */
  createdAt: string;
  /** RFC 3339, UTC. */
  updatedAt: string;
  accessPolicy: MemoryAccessPolicy;
  /** null follows the agent's data policy. */
  retentionPolicy: RetentionPolicy | null;
}

export interface MemoryFilter {
  category?: MemoryCategory;
  /** A plain prefix, not a pattern. */
  keyPrefix?: string;
  /** RFC 3339, inclusive, compared with updatedAt. */
  since?: string;
  /** RFC 3339, exclusive, compared with updatedAt. */
  until?: string;
  /** 1 to 1000, default 100. */
  limit?: number;
}

export type MemoryErrorCode =
  | "MEMORY_NOT_FOUND"
  | "MEMORY_ACCESS_DENIED"
  | "MEMORY_QUOTA_EXCEEDED"
  | "MEMORY_INVALID_INPUT"
  | "MEMORY_STORAGE_ERROR";

/** What a failed call throws. */
export class MemoryError extends Error {
  constructor(code: MemoryErrorCode, message: string);
  readonly code: MemoryErrorCode;
}

/** The agent's memory, as the gene may use it. Each call returns its result directly, or throws a `MemoryError`. */
export interface GeneMemoryAccess {
  /** Returns the entry of `key`, or null when there is none (of `category`, where that is given). */
  readMemory(key: string, category?: MemoryCategory): MemoryEntry | null;
  /** Creates or replaces the entry of `key` and returns it as stored; its value is at most 1 MiB. */
  writeMemory(
    key: string,
    value: Uint8Array,
    category: MemoryCategory,
    accessPolicy?: MemoryAccessPolicy,
    retentionPolicy?: RetentionPolicy | null,
  ): MemoryEntry;
  /** Returns the entries that the gene may read and that match, most recently updated first. */
  queryMemory(filter?: MemoryFilter): MemoryEntry[];
  /** Removes the entry of `key`. */
  deleteMemory(key: string): void;
}

/** The second argument of `express`. */
export interface GeneContext {
  memory: GeneMemoryAccess;
  /** What `rotifer.readContext` tells a WebAssembly gene. */
  context: {
    /** null outside an agent. */
    agent_id: string | null;
    /** Milliseconds since 1970: when the run began. */
    timestamp: number;
    permissions: { memory: boolean; network: boolean; filesystem: boolean };
    trace_id: string;
    abi_version: number;
  };
}
