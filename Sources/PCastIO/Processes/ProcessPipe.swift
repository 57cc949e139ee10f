import CLinux

/// A pipe to or from another program, which inherits only the end that it is given.
package struct ProcessPipe: Sendable {
    /// The read end.
    package let read: Descriptor
    /// The write end.
    package let write: Descriptor

    /// Creates a pipe.
    ///
    /// - Throws: ``IOError/system(call:errno:)`` if no descriptor is available.
    package init() throws(IOError) {
        var ends: (Int32, Int32) = (-1, -1)
        let answer = withUnsafeMutableBytes(of: &ends) {
            clinux_pipe2($0.assumingMemoryBound(to: Int32.self).baseAddress!, Int32(CLINUX_O_CLOEXEC))
        }
        guard answer == 0 else { throw .system(call: "pipe2", errno: Errno.current) }
        read = try Descriptor(ends.0, from: "pipe2")
        write = try Descriptor(ends.1, from: "pipe2")
    }
}
