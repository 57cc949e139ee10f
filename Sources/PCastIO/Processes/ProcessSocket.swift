import CLinux
import Glibc

/// A connection between this program and one that it starts: both ways over one socket, which blocks.
///
/// What is written to a program that has ended is an error, and no signal.
public final class ProcessSocket: Sendable {
    private let ours: Descriptor

    private init(_ ours: Descriptor) { self.ours = ours }

    /// Our end, and what the program is given: to be let go of once it has been started, for as long as anybody has it nothing
    /// ends here.
    ///
    /// - Throws: `IOError.system` when there are no descriptors left.
    public static func pair() throws(IOError) -> (ours: ProcessSocket, theirs: Descriptor) {
        var ends: (Int32, Int32) = (-1, -1)
        let answer = withUnsafeMutableBytes(of: &ends) {
            socketpair(
                AF_UNIX, Int32(CLINUX_SOCK_STREAM | CLINUX_SOCK_CLOEXEC), 0,
                $0.assumingMemoryBound(to: Int32.self).baseAddress!)
        }
        guard answer == 0 else { throw .system(call: "socketpair", errno: Errno.current) }
        let ours = try Descriptor(ends.0, from: "socketpair")
        return (ProcessSocket(ours), try Descriptor(ends.1, from: "socketpair"))
    }

    /// Writes all of it; blocks while the other side does not read. Answers false when nobody will.
    public func write(_ bytes: [UInt8]) -> Bool {
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { send(ours.number, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
            if count > 0 {
                rest = rest.dropFirst(count)
            } else if Errno.current != EINTR {
                return false
            }
        }
        return true
    }

    /// Waits until something can be read; answers how much, 0 when nothing will come any more.
    public func read(into buffer: UnsafeMutableRawBufferPointer) -> Int {
        while true {
            let count = recv(ours.number, buffer.baseAddress, buffer.count, 0)
            if count >= 0 { return count }
            if Errno.current != EINTR { return 0 }
        }
    }

    /// Ends it for both sides; whoever waits for something to be read goes on.
    public func end() { shutdown(ours.number, Int32(SHUT_RDWR)) }
}
