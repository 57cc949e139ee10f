import CLinux

/// A pipe to or from another program, which inherits no end of it that it is not given.
public struct ProcessPipe: Sendable {
    public let read: Descriptor
    public let write: Descriptor

    /// - Throws: `IOError.system` when there are no descriptors left.
    public init() throws(IOError) {
        var ends: (Int32, Int32) = (-1, -1)
        let answer = withUnsafeMutableBytes(of: &ends) {
            clinux_pipe2($0.assumingMemoryBound(to: Int32.self).baseAddress!, Int32(CLINUX_O_CLOEXEC))
        }
        guard answer == 0 else { throw .system(call: "pipe2", errno: Errno.current) }
        read = try Descriptor(ends.0, from: "pipe2")
        write = try Descriptor(ends.1, from: "pipe2")
    }
}
