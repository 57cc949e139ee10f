import CPipeWire
import PCastCore
import PCastIO
import Synchronization

/// The audio of one node of a PipeWire server, at 48 kHz in `ring`.
///
/// The server calls it on the real-time thread of its graph. It is `@unchecked Sendable` because its owner creates and closes
/// it on one thread, and everything else is atomic or a constant in between.
final class PipeWireAudioStream: @unchecked Sendable {
    /// The node whose audio is received.
    enum Target: Hashable {
        /// The default output, also after it has changed.
        case standardOutput
        /// An output, by its identifier and its serial.
        case output(UInt32, serial: String)
        /// A microphone or a stream that a program plays, by its identifier and its serial.
        case source(UInt32, serial: String)

        /// Whether the audio is that which an output plays.
        var isOutput: Bool {
            switch self {
            case .standardOutput, .output: true
            case .source: false
            }
        }
    }

    /// Times of the server that are implausible.
    private static let longestDelay = TimeSpan.seconds(2)

    /// The received audio.
    let ring: PipeWireAudioRing
    private let connection: PipeWireConnection
    private let calls: cpw_library
    private let channels: Int
    /// Whether a block is captured at the time at which the graph processes it, and not before.
    private let isPlayed: Bool
    private let wake: WakeDescriptor
    private var stream: UnsafeMutableRawPointer?
    private let hook: UnsafeMutablePointer<cpw_hook>
    private let events: UnsafeMutablePointer<cpw_stream_events>
    /// The chosen `PipeWireAudioFormat.Sample`; 0 for none.
    private let format = Atomic<UInt8>(0)
    private let ended = Atomic(false)

    /// Connects to a node.
    ///
    /// - Parameters:
    ///   - target: The node.
    ///   - isPlayed: Whether the audio is about to be played, as that of an output or a program.
    ///   - connection: A connection that was started.
    ///   - channels: The number of channels, 1 or 2, to which the server mixes.
    ///   - wake: A signal for the thread that reads `ring`.
    /// - Throws: `DeviceError.faulty` if the stream cannot be created.
    init(
        _ target: Target, isPlayed: Bool, _ connection: PipeWireConnection, channels: Int, wake: WakeDescriptor
    ) throws(DeviceError) {
        (self.connection, self.channels, self.isPlayed, self.wake) = (connection, channels, isPlayed, wake)
        calls = connection.calls
        ring = PipeWireAudioRing(channels: channels)
        hook = .allocate(capacity: 1)
        hook.initialize(to: cpw_hook())
        events = .allocate(capacity: 1)
        events.initialize(to: Self.listeners)
        guard connection.locked({ connect(to: target) }) else {
            throw .faulty(connection.name, reason: "PipeWire's stream could not be created.")
        }
    }

    deinit {
        close()
        hook.deallocate()
        events.deallocate()
    }

    /// Whether the server has ended it, for example because its node has disappeared.
    var isOver: Bool { ended.load(ordering: .acquiring) }

    /// Ends the stream. It must not be called on the library's threads.
    func close() {
        connection.locked {
            // It waits until the graph no longer calls the stream.
            if let stream { calls.stream_destroy(stream) }
            stream = nil
        }
    }

    private func connect(to target: Target) -> Bool {
        withUnsafePointer(to: calls) { calls in
            switch target {
            case .standardOutput: stream = cpw_audio_stream(calls, connection.core, 1, nil, nil)
            case .output(let node, let serial), .source(let node, let serial):
                stream = cpw_audio_stream(calls, connection.core, target.isOutput ? 1 : 0, serial, "\(node)")
            }
        }
        guard let stream else { return false }
        calls.stream_add_listener(stream, hook, events, Unmanaged.passUnretained(self).toOpaque())
        var flags = CPW_AUTOCONNECT | CPW_MAP_BUFFERS | CPW_REAL_TIME_PROCESS
        // Otherwise the session manager would connect it to another node, such as a microphone, when its own one disappears.
        if target != .standardOutput { flags |= CPW_DONT_RECONNECT }
        let words = PipeWireAudioFormat.offer(channels: channels, rate: AudioFrame.sampleRate).words
        return words.withUnsafeBytes { bytes in
            var offer: UnsafeRawPointer? = bytes.baseAddress
            return calls.stream_connect(stream, Int32(CPW_INPUT), UInt32.max, Int32(flags), &offer, 1) >= 0
        }
    }

    // MARK: Events

    private static var listeners: cpw_stream_events {
        var events = cpw_stream_events()
        events.state_changed = { data, _, state, _ in
            guard state == Int32(CPW_STATE_ERROR) || state == Int32(CPW_STATE_UNCONNECTED) else { return }
            PipeWireAudioStream.stream(data)?.end()
        }
        events.param_changed = { data, id, parameter in
            guard id == PipeWireVideoFormat.parameter, let parameter else { return }
            // The library has validated the size of the object.
            let size = Int(parameter.loadUnaligned(as: UInt32.self)) + 8
            PipeWireAudioStream.stream(data)?.formatChanged(UnsafeRawBufferPointer(start: parameter, count: size))
        }
        events.process = { data in PipeWireAudioStream.stream(data)?.process() }
        return events
    }

    private static func stream(_ data: UnsafeMutableRawPointer?) -> PipeWireAudioStream? {
        data.map { Unmanaged<PipeWireAudioStream>.fromOpaque($0).takeUnretainedValue() }
    }

    private func end() {
        ended.store(true, ordering: .releasing)
        wake.signal()
    }

    private func formatChanged(_ bytes: UnsafeRawBufferPointer) {
        guard let pod = PipeWirePod(bytes), let format = PipeWireAudioFormat(pod, rate: AudioFrame.sampleRate),
            format.channels == channels
        else { return end() }
        self.format.store(format.sample.rawValue, ordering: .releasing)
    }

    /// Copies the available buffers, on the real-time thread.
    private func process() {
        guard let stream else { return }
        let format = PipeWireAudioFormat.Sample(rawValue: self.format.load(ordering: .acquiring))
        var time = cpw_time()
        _ = calls.stream_get_time_n(stream, &time, MemoryLayout<cpw_time>.size)
        var start = Self.captureTime(time, now: MonotonicClock.now())
        while let buffer = calls.stream_dequeue_buffer(stream) {
            if let format, let memory = buffer.pointee.memory, let bytes = Self.bytes(memory.pointee) {
                let span = ClockRate.opus.span(ofTicks: Int64(bytes.count / (format.size * channels)))
                ring.write(bytes, format, start: isPlayed ? start : start - span)
                if isPlayed { start = start + span }
            }
            _ = calls.stream_queue_buffer(stream, buffer)
        }
        wake.signal()
    }

    private static func bytes(_ memory: cpw_memory) -> UnsafeRawBufferPointer? {
        guard memory.data_count > 0, let data = memory.datas?.pointee, let chunk = data.chunk?.pointee,
            let base = data.data, Int(chunk.flags) & CPW_CORRUPTED == 0, chunk.offset <= data.maximum_size
        else { return nil }
        return UnsafeRawBufferPointer(
            start: base + Int(chunk.offset), count: Int(min(chunk.size, data.maximum_size - chunk.offset)))
    }

    /// Returns the time at which an output begins to play the audio of a cycle, and the time at which a microphone has
    /// delivered all of it. A time of the server is used if it is plausible; else it is that of the call.
    static func captureTime(_ time: cpw_time, now: Instant) -> Instant {
        let cycle = Instant(nanoseconds: time.now)
        guard time.now > 0, (now - cycle).magnitude < longestDelay else { return now }
        var delay = TimeSpan.zero
        if time.numerator > 0, time.denominator > 0 {
            let seconds = Double(time.delay) * Double(time.numerator) / Double(time.denominator)
            if abs(seconds) < longestDelay.seconds { delay = TimeSpan(seconds: seconds) }
        }
        // These samples wait in the server's resampler.
        let rate = AudioFrame.sampleRate
        let buffered = time.buffered < UInt64(rate) ? Double(time.buffered) / Double(rate) : 0
        return cycle - delay - TimeSpan(seconds: buffered)
    }
}
