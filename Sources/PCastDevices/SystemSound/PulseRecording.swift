import CPulse
import PCastIO
import PCastMedia

/// A stream of what a sink plays. Used by one thread at a time.
///
/// Asked for in pieces of 10 ms, which a sink that sleeps long between pieces is told too, as it would be by a program
/// that plays with so little delay.
final class PulseRecording {
    private static let pieceLength = TimeSpan.milliseconds(10)

    /// Between two questions to the server about time.
    private static let timingInterval = TimeSpan.milliseconds(50)

    private let server: PulseServer
    private let stream: OpaquePointer
    private let channels: Int

    /// Samples a channel that were read.
    private(set) var position: Int64 = 0

    private var lastTiming: WallTime?
    private var lastQuestion = Instant(nanoseconds: 0)

    /// Begins it. The server brings the sound to 48 kHz and to the channels that are asked for.
    ///
    /// - Parameters:
    ///   - source: a sink's monitor.
    ///   - isBound: whether it ends with that, and is not moved to another one by the server.
    /// - Throws: `.faulty` when the server refuses.
    init(_ source: String, isBound: Bool, channels: Int, of server: PulseServer) throws(DeviceError) {
        var format = pa_sample_spec(
            format: PA_SAMPLE_FLOAT32LE, rate: UInt32(AudioFrame.sampleRate), channels: UInt8(channels))
        guard let stream = pa_stream_new(server.context, "system sound", &format, nil) else {
            throw .faulty("system sound", reason: server.reason)
        }
        (self.server, self.stream, self.channels) = (server, stream, channels)
        let unknown = UInt32.max
        let piece = ClockRate.opus.ticks(in: Self.pieceLength) * Int64(channels * MemoryLayout<Float>.size)
        var buffer = pa_buffer_attr(
            maxlength: unknown, tlength: unknown, prebuf: unknown, minreq: unknown, fragsize: UInt32(piece))
        let flags = PA_STREAM_ADJUST_LATENCY.rawValue | (isBound ? PA_STREAM_DONT_MOVE.rawValue : 0)
        guard pa_stream_connect_record(stream, source, &buffer, pa_stream_flags_t(flags)) >= 0 else {
            throw .faulty("system sound", reason: server.reason)
        }
    }

    deinit {
        pa_stream_disconnect(stream)
        pa_stream_unref(stream)
    }

    /// Whether the server has ended it, as it does when the sink is gone.
    var isOver: Bool { PA_STREAM_IS_GOOD(pa_stream_get_state(stream)) == 0 }

    private var isReady: Bool { pa_stream_get_state(stream) == PA_STREAM_READY }

    /// The source that it is of now: servers move streams too. Nil while it begins.
    var source: String? { isReady ? pa_stream_get_device_name(stream).map { String(cString: $0) } : nil }

    /// Takes what has come: samples with channels interleaved, and silence for what the server lost.
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
                // A hole, which libpulse makes no longer than its buffer.
                let silence = [Float](repeating: 0, count: count * channels)
                silence.withUnsafeBufferPointer(body)
            }
            position += Int64(count)
        }
    }

    /// What the server last said of which sample is heard when, if that is news.
    ///
    /// Not by `pa_stream_get_latency`: what libpulse makes of these numbers is off by most of a second while a stream is
    /// new. A sample that the server has written into the stream was captured `source_usec` ago; in a sink's monitor it
    /// will be heard in `sink_usec`, so that the instant may lie ahead.
    func timing() -> (position: Int64, instant: Instant)? {
        guard isReady else { return nil }
        askForTiming()
        guard let info = pa_stream_get_timing_info(stream) else { return nil }
        let timing = info.pointee
        guard timing.write_index_corrupt == 0, timing.read_index_corrupt == 0 else { return nil }
        let time = WallTime(nanosecondsSinceEpoch: cpulse_timestamp(info))
        guard time != lastTiming else { return nil }
        lastTiming = time
        // Negative for what came and was read after the server said it.
        let unread = (timing.write_index - timing.read_index) / Int64(channels * MemoryLayout<Float>.size)
        let ahead = Int64(clamping: timing.sink_usec) - Int64(clamping: timing.source_usec)
        // Servers may lie as drivers do.
        guard abs(unread) < 10 * Int64(AudioFrame.sampleRate), abs(ahead) < 10_000_000 else { return nil }
        let now = MonotonicClock.reference()
        return (position + unread, now.instant + (time - now.wallTime) + .microseconds(ahead))
    }

    /// Every so often; the answer comes with the server's next words.
    private func askForTiming() {
        let now = MonotonicClock.now()
        guard now - lastQuestion >= Self.timingInterval else { return }
        lastQuestion = now
        if let operation = pa_stream_update_timing_info(stream, nil, nil) { pa_operation_unref(operation) }
    }

    /// Goes on with another source. Answers false when the server refuses.
    @discardableResult
    func move(to source: String) -> Bool {
        let done: [Bool]? = server.ask { context, pointer, _ in
            pa_context_move_source_output_by_name(
                context, pa_stream_get_index(stream), source,
                { _, isDone, pointer in
                    let answer = PulseAnswer<Bool>.at(pointer)
                    answer.append(isDone != 0)
                    answer.end()
                }, pointer)
        }
        return done == [true]
    }
}
