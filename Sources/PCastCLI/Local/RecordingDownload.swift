import Foundation
import Glibc
import PCastCore
import PCastWeb

/// A download of a recording into a file. The file has its name when it is complete. A connection that breaks is resumed.
struct RecordingDownload {
    /// The address of the recording, which requires no token.
    let uri: String
    /// The path of the file, which must not exist.
    let path: String

    /// The time without data after which the connection counts as broken.
    private static let timeout = Duration.seconds(30)
    /// The number of attempts without any data before the download fails.
    private static let attempts = 3

    /// The incomplete file. The requests of a download write to it one after the other.
    private final class Target: @unchecked Sendable {  // one request at a time
        private let descriptor: Int32
        /// The bytes that were written.
        private(set) var size: Int64 = 0
        /// The number of the error of a failed write; nil if none failed.
        private(set) var failure: Int32?

        init?(_ path: String) {
            descriptor = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0o666)
            if descriptor < 0 { return nil }
        }

        deinit { if descriptor >= 0 { close(descriptor) } }

        /// Appends bytes. Returns whether this was possible.
        func append(_ bytes: [UInt8]) -> Bool {
            var done = 0
            while done < bytes.count {
                let count = bytes.withUnsafeBytes { write(descriptor, $0.baseAddress! + done, $0.count - done) }
                if count < 0, errno == EINTR { continue }
                guard count > 0 else {
                    failure = errno
                    return false
                }
                done += count
            }
            size += Int64(bytes.count)
            return true
        }
    }

    /// Downloads the recording.
    ///
    /// - Returns: The size of the file in bytes.
    /// - Throws: ``CommandFailure``, or `CancellationError`. No file remains.
    func run() async throws -> Int64 {
        guard access(path, F_OK) != 0 else {
            throw CommandFailure(.unusableArguments, "\(path) exists: remove it, or give another name with --output.")
        }
        let partial = path + ".part"
        guard let target = Target(partial) else {
            throw CommandFailure(.failed, "\(partial) cannot be created: \(String(cString: strerror(errno))).")
        }
        do {
            try await receive(target)
            // An existing file is not replaced.
            guard link(partial, path) == 0 else {
                throw CommandFailure(.failed, "\(path) cannot be created: \(String(cString: strerror(errno))).")
            }
            unlink(partial)
            return target.size
        } catch {
            unlink(partial)
            throw error
        }
    }

    private func receive(_ target: Target) async throws {
        var attempt = 0
        while true {
            let offset = target.size
            let head: HTTPDownload.Head
            do throws(HTTPDownload.Failure) {
                head = try await HTTPDownload.get(
                    uri, range: offset > 0 ? (offset, nil) : nil, limit: .max / 2, timeout: Self.timeout
                ) { head, bytes in
                    // A response without the range would begin again.
                    (offset == 0 || head.status == 206) && target.append(bytes)
                }
            } catch {
                if let number = target.failure { throw Self.cannotWrite(path, number) }
                if error == .cancelled { throw CancellationError() }
                attempt = target.size > offset ? 0 : attempt + 1
                guard attempt < Self.attempts else {
                    throw CommandFailure(.platformUnreachable, "The download broke off (\(error)): retry later.")
                }
                continue
            }
            return try check(head, target, from: offset)
        }
    }

    /// Checks that a response is the rest of the recording.
    ///
    /// - Throws: ``CommandFailure``.
    private func check(_ head: HTTPDownload.Head, _ target: Target, from offset: Int64) throws {
        if let number = target.failure { throw Self.cannotWrite(path, number) }
        let isWhole = head.length.map { offset + $0 == target.size } ?? true
        switch head.status {
        case 200 where offset == 0 && isWhole, 206 where offset > 0 && isWhole: return
        case 400: throw CommandFailure(.unusableArguments, Self.badRange)
        case 404: throw CommandFailure(.nothingToPlay, "The recording has no media in this range.")
        default:
            throw CommandFailure(.failed, "The platform responded with status \(head.status): retry later.")
        }
    }

    private static let badRange =
        "The range is not usable: give --from and --to in seconds or as times such as 2026-11-22T05:13:16Z, and less than "
        + "4 million samples (14 hours)."

    private static func cannotWrite(_ path: String, _ number: Int32) -> CommandFailure {
        CommandFailure(.failed, "\(path) cannot be written: \(String(cString: strerror(number))).")
    }
}
