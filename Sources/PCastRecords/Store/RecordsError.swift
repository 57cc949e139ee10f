/// Why records cannot be opened, read or written, and what to do.
public enum RecordsError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The disk has no room left.
    case full(path: String)
    /// The file is no database, or is damaged.
    case corrupt(path: String, reason: String)
    /// The directory or a file in it cannot be made, opened or written.
    case inaccessible(path: String, reason: String)
    /// Another platform has it open.
    case inUse(path: String)
    /// A later version of this program wrote it.
    case newer(path: String)
    /// The key that secrets are sealed with is gone, or is another one.
    case key(path: String, reason: String)
    /// What was asked contradicts what is recorded; a mistake of the program.
    case rejected(reason: String)

    public var description: String {
        switch self {
        case .full(let path): "the disk is full: nothing more can be written to \(path)"
        case .corrupt(let path, let reason):
            "\(path) is damaged (\(reason)): restore it from a copy, or move it away to begin anew"
        case .inaccessible(let path, let reason): "\(path) cannot be used: \(reason)"
        case .inUse(let path): "another platform keeps its records in \(path): give each a directory of its own"
        case .newer(let path): "\(path) was written by a later version of this program: use that one"
        case .key(let path, let reason): "the key \(path) does not open the secrets in the records: \(reason)"
        case .rejected(let reason): "a record was refused: \(reason)"
        }
    }

    /// The same may succeed later, as the fault is the disk's.
    public var isOfTheDisk: Bool {
        if case .rejected = self { false } else { true }
    }
}
