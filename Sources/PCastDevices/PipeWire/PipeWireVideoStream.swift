import CPipeWire
import Glibc
import PCastCodecs
import PCastCore
import PCastIO

/// The frames of a PipeWire node: a captured screen or a camera.
///
/// Frames are converted on the library's thread, and its buffer is returned at once. `receive` gets each frame, and
/// `changed` whether the node streams, or the reason for which the stream ended.
final class PipeWireVideoStream: @unchecked Sendable {  // the state is used on the library's thread only
    /// The node whose frames are received.
    enum Target {
        /// A screen, by its identifier on the connection of the desktop portal.
        case screen(UInt32)
        /// A camera, by the name of its node.
        case camera(String)
    }

    enum Change: Hashable, Sendable {
        case streaming
        case paused
        case over(String)
    }

    private let connection: PipeWireConnection
    private var calls: cpw_library { connection.calls }
    private var stream: UnsafeMutableRawPointer?
    private var isClosed = false
    private let hook: UnsafeMutablePointer<cpw_hook>
    private let events: UnsafeMutablePointer<cpw_stream_events>

    private let converter = RawFrameConverter()
    /// The decoder of JPEG images, from the first one on.
    private var decoder: MJPEGDecoder?
    private let reference: WallClockReference
    private let receive: @Sendable (VideoFrame) -> Void
    private let changed: @Sendable (Change) -> Void
    private var format: PipeWireVideoFormat?

    /// Connects to a node.
    ///
    /// - Parameters:
    ///   - target: The node.
    ///   - connection: A connection that was not started, which the stream closes.
    ///   - offer: The accepted formats.
    ///   - reference: The origin of the timestamps.
    ///   - receive: A function that receives frames on the library's thread.
    ///   - changed: A function that receives changes of the state on the library's thread.
    /// - Throws: `DeviceError.faulty` if the stream cannot be created.
    init(
        _ target: Target, _ connection: PipeWireConnection, offer: PipeWirePod, reference: WallClockReference,
        receive: @escaping @Sendable (VideoFrame) -> Void, changed: @escaping @Sendable (Change) -> Void
    ) throws(DeviceError) {
        (self.connection, self.reference, self.receive, self.changed) = (connection, reference, receive, changed)
        hook = .allocate(capacity: 1)
        events = .allocate(capacity: 1)
        events.initialize(to: Self.listeners)
        hook.initialize(to: cpw_hook())
        guard connect(to: target, offer) else {
            throw .faulty(connection.name, reason: "PipeWire's stream could not be created.")
        }
    }

    deinit {
        close()
        hook.deallocate()
        events.deallocate()
    }

    /// Ends the stream, and waits for the library's thread. The owner calls it before it releases the stream, because
    /// the library's thread cannot wait for itself.
    func close() {
        guard !isClosed else { return }
        isClosed = true
        connection.stop()
        if let stream { calls.stream_destroy(stream) }
        stream = nil
        connection.close()
    }

    private func connect(to target: Target, _ offer: PipeWirePod) -> Bool {
        var node = UInt32.max
        withUnsafePointer(to: calls) { calls in
            switch target {
            case .screen(let id):
                stream = cpw_screen_stream(calls, connection.core)
                node = id
            case .camera(let name): stream = cpw_camera_stream(calls, connection.core, name)
            }
        }
        guard let stream else { return false }
        calls.stream_add_listener(stream, hook, events, Unmanaged.passUnretained(self).toOpaque())
        let flags = CPW_AUTOCONNECT | CPW_MAP_BUFFERS | CPW_DONT_RECONNECT
        let result = Self.withParameters([offer]) { parameters, count in
            calls.stream_connect(stream, Int32(CPW_INPUT), node, Int32(flags), parameters, count)
        }
        return result >= 0 && connection.start()
    }

    private static func withParameters<Result>(
        _ pods: [PipeWirePod], _ body: (UnsafeMutablePointer<UnsafeRawPointer?>, UInt32) -> Result
    ) -> Result {
        let all = pods.map { pod -> UnsafeMutableBufferPointer<UInt64> in
            let words = UnsafeMutableBufferPointer<UInt64>.allocate(capacity: pod.words.count)
            _ = words.initialize(from: pod.words)
            return words
        }
        defer { for words in all { words.deallocate() } }
        var pointers: [UnsafeRawPointer?] = all.map { UnsafeRawPointer($0.baseAddress) }
        return pointers.withUnsafeMutableBufferPointer { body($0.baseAddress!, UInt32(pods.count)) }
    }

    // MARK: Events

    private static var listeners: cpw_stream_events {
        var events = cpw_stream_events()
        events.state_changed = { data, _, state, error in
            PipeWireVideoStream.stream(data)?.stateChanged(state, error.map { String(cString: $0) })
        }
        events.param_changed = { data, id, parameter in
            guard id == PipeWireVideoFormat.parameter, let parameter else { return }
            // The library has validated the size of the object.
            let size = Int(parameter.loadUnaligned(as: UInt32.self)) + 8
            PipeWireVideoStream.stream(data)?.formatChanged(UnsafeRawBufferPointer(start: parameter, count: size))
        }
        events.process = { data in PipeWireVideoStream.stream(data)?.process() }
        return events
    }

    private static func stream(_ data: UnsafeMutableRawPointer?) -> PipeWireVideoStream? {
        data.map { Unmanaged<PipeWireVideoStream>.fromOpaque($0).takeUnretainedValue() }
    }

    private func stateChanged(_ state: Int32, _ error: String?) {
        switch state {
        case Int32(CPW_STATE_ERROR), Int32(CPW_STATE_UNCONNECTED):
            changed(.over(error ?? "the connection to the PipeWire server was lost"))
        case Int32(CPW_STATE_STREAMING): changed(.streaming)
        default: changed(.paused)
        }
    }

    private func formatChanged(_ bytes: UnsafeRawBufferPointer) {
        guard let stream else { return }
        guard let pod = PipeWirePod(bytes), let format = PipeWireVideoFormat(pod) else {
            self.format = nil
            return changed(.over("the server chose a format that was not offered"))
        }
        self.format = format
        _ = Self.withParameters(PipeWireVideoFormat.buffers()) { parameters, count in
            calls.stream_update_params(stream, parameters, count)
        }
    }

    private func process() {
        guard let stream else { return }
        // Only the newest of several buffers is converted.
        var newest: UnsafeMutablePointer<cpw_buffer>?
        while let buffer = calls.stream_dequeue_buffer(stream) {
            if let newest { _ = calls.stream_queue_buffer(stream, newest) }
            newest = buffer
        }
        guard let newest else { return }
        if let memory = newest.pointee.memory, let frame = frame(memory.pointee) { receive(frame) }
        _ = calls.stream_queue_buffer(stream, newest)
    }

    private func frame(_ memory: cpw_memory) -> VideoFrame? {
        guard let format, memory.data_count > 0, let data = memory.datas?.pointee, let chunk = data.chunk?.pointee,
            let base = data.data, Int(chunk.flags) & CPW_CORRUPTED == 0, chunk.size > 0,
            chunk.offset <= data.maximum_size, chunk.stride >= 0
        else { return nil }
        let length = min(chunk.size, data.maximum_size - chunk.offset)
        let all = UnsafeRawBufferPointer(start: base + Int(chunk.offset), count: Int(length))
        let captured = captureTime(memory, MonotonicClock.now())
        let captureTime = reference.wallTime + (captured - reference.instant)
        let timestamp = MediaTime(
            ticks: max(0, ClockRate.video.ticks(in: captured - reference.instant)), rate: .video)
        guard let pixels = format.pixels else {
            if decoder == nil { decoder = try? MJPEGDecoder() }
            return try? decoder?.decode(all, captureTime: captureTime, timestamp: timestamp)
        }
        guard let area = PipeWireFrameArea(format, stride: Int(chunk.stride), crop: crop(memory)),
            area.offset < all.count
        else { return nil }
        return try? converter.convert(
            UnsafeRawBufferPointer(rebasing: all[area.offset...]), format: pixels, dimensions: area.dimensions,
            stride: area.stride, isFullRange: pixels.isRGB, captureTime: captureTime, timestamp: timestamp)
    }

    /// Returns the server's time of the frame if it is plausible; else the current time.
    private func captureTime(_ memory: cpw_memory, _ now: Instant) -> Instant {
        guard let header: cpw_header = metadata(memory, UInt32(CPW_META_HEADER)) else { return now }
        let captured = Instant(nanoseconds: header.timestamp)
        return header.timestamp > 0 && captured <= now && now - captured < .seconds(1) ? captured : now
    }

    private func crop(_ memory: cpw_memory) -> cpw_crop? { metadata(memory, UInt32(CPW_META_CROP)) }

    private func metadata<Value>(_ memory: cpw_memory, _ type: UInt32) -> Value? {
        guard let metas = memory.metas else { return nil }
        for meta in UnsafeBufferPointer(start: metas, count: Int(memory.meta_count)) where meta.type == type {
            guard let data = meta.data, Int(meta.size) >= MemoryLayout<Value>.size else { return nil }
            return data.loadUnaligned(as: Value.self)
        }
        return nil
    }
}

/// The visible part of a buffer: the whole of it, or that of a window which is smaller than its buffer.
struct PipeWireFrameArea: Hashable {
    let offset: Int
    let dimensions: Dimensions
    let stride: Int

    /// Returns nil if the area is too small for a frame, or the stride is smaller than a row, or the frames have no rows.
    /// A crop region beyond the buffer is limited to it. Frames with subsampled chroma, those of cameras, are not cropped.
    init?(_ format: PipeWireVideoFormat, stride: Int, crop: cpw_crop?) {
        guard let pixels = format.pixels else { return nil }
        let whole = format.dimensions
        let bytesPerPixel = pixels.minimumStride(width: 1)
        let rowLength = stride == 0 ? pixels.minimumStride(width: whole.width) : stride
        guard rowLength >= pixels.minimumStride(width: whole.width) else { return nil }
        var (left, top, size) = (0, 0, whole)
        if let crop, pixels.isRGB, crop.width > 0, crop.height > 0 {
            left = min(max(0, Int(crop.left)), whole.width)
            top = min(max(0, Int(crop.top)), whole.height)
            size = Dimensions(
                width: min(Int(crop.width), whole.width - left), height: min(Int(crop.height), whole.height - top))
        }
        guard size.width > 1, size.height > 1 else { return nil }
        offset = top * rowLength + left * bytesPerPixel
        dimensions = size
        self.stride = rowLength
    }
}
