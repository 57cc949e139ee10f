import Foundation
import PCastIO

/// The lines that a program writes to one of its outputs. They are stored in a file, and tests can wait for them.
final class ProgramOutput: Sendable {
    let lines = Awaited<String>()

    /// Reads on its own thread until the last writing process has ended.
    init(from pipe: Descriptor, to file: URL) {
        let lines = lines
        Thread.detachNewThread {
            let kept = fopen(file.path, "w")
            var rest: [UInt8] = []
            var buffer = [UInt8](repeating: 0, count: 65_536)
            while true {
                let count = read(pipe.number, &buffer, buffer.count)
                if count < 0, errno == EINTR { continue }
                guard count > 0 else { break }
                fwrite(buffer, 1, count, kept)
                fflush(kept)
                rest += buffer[..<count]
                while let end = rest.firstIndex(of: UInt8(ascii: "\n")) {
                    lines.add(String(decoding: rest[..<end], as: UTF8.self))
                    rest.removeSubrange(...end)
                }
            }
            if !rest.isEmpty { lines.add(String(decoding: rest, as: UTF8.self)) }
            if let kept { fclose(kept) }
            lines.finish()
        }
    }

    /// The last lines, for the report of a failure.
    var tail: String { lines.values.suffix(12).joined(separator: "\n") }
}
