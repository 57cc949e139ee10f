import CV4L2

/// The driver's buffers, mapped into this process.
///
/// Unchecked: used by whoever opens the camera, and then by its thread alone.
final class CaptureBuffers: @unchecked Sendable {
    /// Four: one is filled, one is read, and two wait while the thread is kept waiting, 66 ms at 30 pictures a second.
    static let wanted: UInt32 = 4
    /// With one, the driver would have none to fill while it is read.
    private static let least: UInt32 = 2
    private static let most: UInt32 = 32

    private let node: VideoNode
    private var memory: [UnsafeMutableRawBufferPointer] = []

    /// Takes the camera: until these are given back, no other program can stream from it.
    init(of node: VideoNode) throws(DriverError) {
        self.node = node
        var count = Self.wanted
        let error = cv4l2_request_buffers(node.descriptor, node.isMultiplanar, &count)
        guard error == 0 else { throw DriverError("REQBUFS", error) }
        guard (Self.least...Self.most).contains(count) else { throw DriverError("REQBUFS", ENOMEM) }
        for index in 0..<count {
            var (start, length) = (UnsafeMutableRawPointer?.none, 0)
            let error = cv4l2_map(node.descriptor, node.isMultiplanar, index, &start, &length)
            guard error == 0, let start else { throw DriverError("mmap", error) }
            memory.append(UnsafeMutableRawBufferPointer(start: start, count: length))
        }
    }

    deinit {
        for buffer in memory { v4l2_munmap(buffer.baseAddress, buffer.count) }
        var none: UInt32 = 0
        _ = cv4l2_request_buffers(node.descriptor, node.isMultiplanar, &none)
    }

    /// What the driver says that it has put into a buffer; nil when it cannot have.
    func bytes(of frame: cv4l2_frame) -> UnsafeRawBufferPointer? {
        guard Int(frame.index) < memory.count else { return nil }
        let buffer = memory[Int(frame.index)]
        let (offset, end) = (Int(frame.offset), Int(frame.length))
        // The length counts from the buffer's beginning (V4L2's description of `data_offset`).
        guard offset < end, end <= buffer.count else { return nil }
        return UnsafeRawBufferPointer(rebasing: buffer[offset..<end])
    }

    /// Gives a buffer to the driver. A number that is none of ours is a lie, and not given.
    func queue(_ index: UInt32) -> Int32 {
        guard Int(index) < memory.count else { return 0 }
        return cv4l2_queue(node.descriptor, node.isMultiplanar, index)
    }

    /// Gives all to the driver and begins.
    func start() throws(DriverError) {
        for index in 0..<UInt32(memory.count) {
            let error = queue(index)
            guard error == 0 else { throw DriverError("QBUF", error) }
        }
        let error = cv4l2_stream(node.descriptor, node.isMultiplanar, 1)
        guard error == 0 else {
            stop()
            throw DriverError("STREAMON", error)
        }
    }

    /// Takes all back from the driver.
    func stop() { _ = cv4l2_stream(node.descriptor, node.isMultiplanar, 0) }
}
