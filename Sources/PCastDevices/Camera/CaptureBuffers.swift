import CV4L2

/// The driver's buffers, mapped into this process.
///
/// It is `@unchecked Sendable` because only the opener of the camera and then its thread use it.
final class CaptureBuffers: @unchecked Sendable {
    /// Four buffers: one is filled, one is read, and two allow the thread a delay of 66 ms at 30 frames per second.
    static let wanted: UInt32 = 4
    /// With a single buffer, the driver could not fill one while it is read.
    private static let least: UInt32 = 2
    private static let most: UInt32 = 32

    private let node: VideoNode
    private var memory: [UnsafeMutableRawBufferPointer] = []

    /// Reserves the camera: no other program can stream from it until the buffers are released. Throws `DriverError`.
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

    /// Returns the content of a buffer; nil if the driver's values are impossible.
    func bytes(of frame: cv4l2_frame) -> UnsafeRawBufferPointer? {
        guard Int(frame.index) < memory.count else { return nil }
        let buffer = memory[Int(frame.index)]
        let (offset, end) = (Int(frame.offset), Int(frame.length))
        // The length counts from the beginning of the buffer (V4L2 documentation, `data_offset`).
        guard offset < end, end <= buffer.count else { return nil }
        return UnsafeRawBufferPointer(rebasing: buffer[offset..<end])
    }

    /// Queues a buffer and returns the error number or 0. An invalid index is ignored.
    func queue(_ index: UInt32) -> Int32 {
        guard Int(index) < memory.count else { return 0 }
        return cv4l2_queue(node.descriptor, node.isMultiplanar, index)
    }

    /// Queues all buffers and starts streaming. Throws `DriverError`.
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

    /// Stops streaming, which dequeues all buffers.
    func stop() { _ = cv4l2_stream(node.descriptor, node.isMultiplanar, 0) }
}
