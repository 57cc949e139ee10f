import CPulse
import PCastCore
import PCastIO

/// An output of a audio server. Its monitor is the source of the audio that it plays.
struct PulseSink: Hashable {
    let name: String
    /// The name for display.
    let description: String
    let monitor: String
    let sampleRate: Int

    /// Returns all sinks of a server.
    static func all(of server: PulseServer) -> [PulseSink] {
        let found: [PulseSink]? = server.ask { context, pointer, _ in
            pa_context_get_sink_info_list(
                context, { _, info, end, pointer in PulseSink.receive(info, end, pointer) }, pointer)
        }
        return found ?? []
    }

    /// Returns the default sink; nil if there is none.
    static func standard(of server: PulseServer) -> PulseSink? {
        let names: [String]? = server.ask { context, pointer, _ in
            pa_context_get_server_info(
                context,
                { _, info, pointer in
                    let answer = PulseReply<String>.at(pointer)
                    if let name = info?.pointee.default_sink_name { answer.append(String(cString: name)) }
                    answer.end()
                }, pointer)
        }
        guard let name = names?.first else { return nil }
        let found: [PulseSink]? = server.ask { context, pointer, _ in
            pa_context_get_sink_info_by_name(
                context, name, { _, info, end, pointer in PulseSink.receive(info, end, pointer) }, pointer)
        }
        return found?.first
    }

    private static func receive(
        _ info: UnsafePointer<pa_sink_info>?, _ end: Int32, _ pointer: UnsafeMutableRawPointer?
    ) {
        let answer = PulseReply<PulseSink>.at(pointer)
        guard end == 0, let info = info?.pointee else { return answer.end() }
        guard let name = info.name, let monitor = info.monitor_source_name else { return }
        answer.append(
            PulseSink(
                name: String(cString: name), description: String(cString: info.description ?? name),
                monitor: String(cString: monitor), sampleRate: Int(info.sample_spec.rate)))
    }
}

/// Detects changes of the server's settings, which include the default sink. Only one thread may use it at a time.
final class DefaultSinkMonitor {
    private let server: PulseServer
    private var hasChanged = false

    init(of server: PulseServer) {
        self.server = server
        pa_context_set_subscribe_callback(
            server.context,
            { _, _, _, pointer in
                Unmanaged<DefaultSinkMonitor>.fromOpaque(pointer!).takeUnretainedValue().hasChanged = true
            }, Unmanaged.passUnretained(self).toOpaque())
        if let operation = pa_context_subscribe(server.context, PA_SUBSCRIPTION_MASK_SERVER, nil, nil) {
            pa_operation_unref(operation)
        }
    }

    deinit { pa_context_set_subscribe_callback(server.context, nil, nil) }

    /// Returns the default sink if the settings have changed since the last call; nil otherwise, or if there is none.
    func changed() -> PulseSink? {
        guard hasChanged else { return nil }
        hasChanged = false
        return PulseSink.standard(of: server)
    }
}

/// A recording of a sink's output. Only one thread may use it at a time.
///
/// It requests pieces of 10 ms, so that the sink uses short buffers, as for a program that plays with low latency.
final class PulseRecording {
    private static let pieceLength = TimeSpan.milliseconds(10)

    /// The interval of timing requests to the server.
    private static let timingInterval = TimeSpan.milliseconds(50)

    private let server: PulseServer
    private let stream: OpaquePointer
    private let channels: Int

    /// The number of samples per channel that were read.
    private(set) var position: Int64 = 0

    private var lastTiming: WallTime?
    private var lastQuestion = Instant(nanoseconds: 0)

    /// Starts recording. The server converts the audio to 48 kHz and to the given number of channels.
    ///
    /// - Parameters:
    ///   - source: The monitor source of a sink; nil for that of the sink on which `input` plays.
    ///   - input: The only stream of a program whose audio is recorded; nil for all that the sink plays.
    ///   - isBound: Whether it ends with the source, and the server does not move it to another one.
    ///   - channels: The number of channels.
    ///   - server: The server.
    /// - Throws: `DeviceError.faulty` if the server refuses it.
    init(
        _ source: String?, input: PulseSinkInput? = nil, isBound: Bool, channels: Int, of server: PulseServer
    ) throws(DeviceError) {
        var format = pa_sample_spec(
            format: PA_SAMPLE_FLOAT32LE, rate: UInt32(AudioFrame.sampleRate), channels: UInt8(channels))
        guard let stream = pa_stream_new(server.context, "system audio", &format, nil) else {
            throw .faulty("system audio", reason: server.reason)
        }
        (self.server, self.stream, self.channels) = (server, stream, channels)
        let unknown = UInt32.max
        let piece = ClockRate.opus.ticks(in: Self.pieceLength) * Int64(channels * MemoryLayout<Float>.size)
        var buffer = pa_buffer_attr(
            maxlength: unknown, tlength: unknown, prebuf: unknown, minreq: unknown, fragsize: UInt32(piece))
        let flags = PA_STREAM_ADJUST_LATENCY.rawValue | (isBound ? PA_STREAM_DONT_MOVE.rawValue : 0)
        if let input { pa_stream_set_monitor_stream(stream, input.index) }
        guard pa_stream_connect_record(stream, source, &buffer, pa_stream_flags_t(flags)) >= 0 else {
            throw .faulty("system audio", reason: server.reason)
        }
    }

    deinit {
        pa_stream_disconnect(stream)
        pa_stream_unref(stream)
    }

    /// Whether the server has ended it, e.g., because the sink disappeared.
    var isOver: Bool { PA_STREAM_IS_GOOD(pa_stream_get_state(stream)) == 0 }

    private var isReady: Bool { pa_stream_get_state(stream) == PA_STREAM_READY }

    /// The current source, because servers also move streams; nil while it starts.
    var source: String? { isReady ? pa_stream_get_device_name(stream).map { String(cString: $0) } : nil }

    /// Reads the available audio with interleaved channels, and silence for lost audio.
    func read(_ body: (UnsafeBufferPointer<Float>) -> Void) {
        guard isReady else { return }
        let size = MemoryLayout<Float>.size * channels
        while true {
            var data: UnsafeRawPointer?
            var byteCount = 0
            guard pa_stream_peek(stream, &data, &byteCount) >= 0, byteCount > 0 else { return }
            defer { pa_stream_drop(stream) }
            let count = byteCount / size
            if let data {
                body(UnsafeBufferPointer(start: data.assumingMemoryBound(to: Float.self), count: count * channels))
            } else {
                // A gap, which libpulse limits to its buffer size.
                let silence = [Float](repeating: 0, count: count * channels)
                silence.withUnsafeBufferPointer(body)
            }
            position += Int64(count)
        }
    }

    /// Returns a sample position and the time at which it is played, if the server has reported new timing; nil
    /// otherwise.
    ///
    /// It does not use `pa_stream_get_latency`, whose value is off by up to a second while a stream is new. A sample
    /// that the server has written to the stream was captured `source_usec` ago. In the monitor of a sink, it will be
    /// played in `sink_usec`, so the time may be in the future.
    func timing() -> (position: Int64, instant: Instant)? {
        guard isReady else { return nil }
        askForTiming()
        guard let info = pa_stream_get_timing_info(stream) else { return nil }
        let timing = info.pointee
        guard timing.write_index_corrupt == 0, timing.read_index_corrupt == 0 else { return nil }
        let time = WallTime(nanosecondsSinceEpoch: cpulse_timestamp(info))
        guard time != lastTiming else { return nil }
        lastTiming = time
        // It is negative for audio that was received and read after the report.
        let unread = (timing.write_index - timing.read_index) / Int64(channels * MemoryLayout<Float>.size)
        let ahead = Int64(clamping: timing.sink_usec) - Int64(clamping: timing.source_usec)
        // Rejects implausible values.
        guard abs(unread) < 10 * Int64(AudioFrame.sampleRate), abs(ahead) < 10_000_000 else { return nil }
        let now = MonotonicClock.reference()
        return (position + unread, now.instant + (time - now.wallTime) + .microseconds(ahead))
    }

    /// Requests the timing at intervals. The reply arrives with later messages.
    private func askForTiming() {
        let now = MonotonicClock.now()
        guard now - lastQuestion >= Self.timingInterval else { return }
        lastQuestion = now
        if let operation = pa_stream_update_timing_info(stream, nil, nil) { pa_operation_unref(operation) }
    }

    /// Moves the recording to another source. Returns false if the server refuses it.
    @discardableResult
    func move(to source: String) -> Bool {
        let done: [Bool]? = server.ask { context, pointer, _ in
            pa_context_move_source_output_by_name(
                context, pa_stream_get_index(stream), source,
                { _, isDone, pointer in
                    let answer = PulseReply<Bool>.at(pointer)
                    answer.append(isDone != 0)
                    answer.end()
                }, pointer)
        }
        return done == [true]
    }
}
