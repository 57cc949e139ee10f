import Glibc

/// An error of a recording's files. Its text says what to do.
package enum RecordingError: Error, Hashable, Sendable {
    /// The free space is below the reserve.
    case full(path: String)
    /// A folder or file cannot be created, written or read.
    case inaccessible(path: String, reason: String)
    /// A file was removed while it was written.
    case removed(path: String)
    /// The contents of a file are not those that were written.
    case corrupt(path: String)
    /// An object store that has a file does not return it.
    case unavailable(object: String, reason: String)
    /// Another platform writes recordings to the folder.
    case inUse(path: String)
    /// The writer received more than the disk could store.
    case tooSlow

    /// Returns the error of a system call that has just failed.
    static func system(_ path: String) -> RecordingError {
        let number = errno
        return number == ENOSPC || number == EDQUOT
            ? .full(path: path) : .inaccessible(path: path, reason: String(cString: strerror(number)))
    }
}

extension RecordingError {
    /// The error without the remedy of recordings, in English.
    package var cause: String {
        switch self {
        case .full(let path): "the disk of \(path) is full: free some space"
        case .inaccessible(let path, let reason): "\(path) cannot be used (\(reason))"
        case .removed(let path): "\(path) was removed"
        case .corrupt(let path): "\(path) does not have what was written to it: check the disk"
        case .unavailable, .inUse, .tooSlow: description
        }
    }
}

extension RecordingError: CustomStringConvertible {
    /// The error and its remedy in English.
    package var description: String {
        switch self {
        case .full(let path): "the disk of \(path) is full: free some space, or lower the limits of recordings"
        case .inaccessible(let path, let reason):
            "\(path) cannot be used (\(reason)): check it, or name another folder with --recordings"
        case .removed(let path): "\(path) was removed while it was written: delete recordings through the platform only"
        case .corrupt(let path): "\(path) is corrupt: restore it from a backup, or delete the recording"
        case .unavailable(let object, let reason): "\(object) cannot be read from the object store: \(reason)"
        case .inUse(let path): "another platform records to \(path): give each platform its own folder"
        case .tooSlow: "the disk is too slow for the recordings: use a faster one, or record fewer streams"
        }
    }
}
