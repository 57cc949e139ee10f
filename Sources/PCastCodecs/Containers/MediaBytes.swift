import CFFmpeg

/// A sequential source of a container's bytes. Reading may block.
package protocol MediaBytes: AnyObject, Sendable {
    /// Reads at least one byte into the buffer and returns the number of bytes. Returns 0 at the end, and nil if the
    /// source failed before the end.
    func read(into buffer: UnsafeMutableRawBufferPointer) -> Int?
}

/// An `AVIOContext` that reads from `MediaBytes`.
final class MediaBytesContext {
    let pointer: UnsafeMutablePointer<AVIOContext>

    private final class Box {
        let bytes: any MediaBytes

        init(_ bytes: any MediaBytes) { self.bytes = bytes }
    }

    private static let bufferSize: Int32 = 32 << 10

    init(_ bytes: any MediaBytes) {
        let box = Unmanaged.passRetained(Box(bytes))
        let buffer = av_malloc(Int(Self.bufferSize))?.assumingMemoryBound(to: UInt8.self)
        guard buffer != nil,
            let pointer = avio_alloc_context(
                buffer, Self.bufferSize, 0, box.toOpaque(),
                { opaque, target, count in
                    let box = Unmanaged<Box>.fromOpaque(opaque!).takeUnretainedValue()
                    let packetBuffer = UnsafeMutableRawBufferPointer(start: target, count: Int(count))
                    guard let read = box.bytes.read(into: packetBuffer) else { return cffmpeg_error_exit() }
                    return read == 0 ? cffmpeg_error_end_of_file() : Int32(read)
                }, nil, nil)
        else { fatalError("out of memory for reading") }
        pointer.pointee.seekable = 0
        self.pointer = pointer
    }

    deinit {
        if let box = pointer.pointee.opaque { Unmanaged<Box>.fromOpaque(box).release() }
        av_freep(&pointer.pointee.buffer)
        var context: UnsafeMutablePointer<AVIOContext>? = pointer
        avio_context_free(&context)
    }
}
