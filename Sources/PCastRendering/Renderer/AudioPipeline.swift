import PCastCodecs
import PCastCore
import PCastIO
import Synchronization

/// The audio part of a renderer: a queue of packets, a decoding thread, and the presentation times.
///
/// A lost packet is concealed when the next one has arrived, which may contain a copy of it (Opus forward error
/// correction, RFC 6716, section 2.1.7).
final class AudioPipeline: Sendable {
    private enum Entry: Sendable {
        case packet(EncodedFrame)
        case audio(AudioFrame)
        case missing(TimeSpan)
    }

    /// The size of the queue, more than a second of audio.
    private static let capacity = 64

    /// The longest gap that is concealed. The rest is silence.
    private static let longestConcealment = TimeSpan.milliseconds(200)

    private let queue = FrameQueue<Entry>(capacity: AudioPipeline.capacity)
    private let shared: SharedRendererState
    private let onAudio: (@Sendable (AudioFrame, Instant) -> Void)?
    private let measuresTestSignal: Bool
    private let presenter: AudioPresenter?
    private let thread = Mutex<WorkerThread?>(nil)
    /// Ends when the decoding thread has ended.
    private let decoding = CancellableSleep()
    /// The time in which the output plays the last audio.
    private let playing = CancellableSleep()

    init(
        shared: SharedRendererState, callbacks: RendererCallbacks, options: StreamRendererOptions
    ) throws(IOError) {
        self.shared = shared
        onAudio = callbacks.onAudio
        measuresTestSignal = options.measuresTestSignal
        presenter = try options.audioDevice.map { name throws(IOError) in try AudioPresenter(name: name) }
        do throws(IOError) {
            let worker = try WorkerThread(name: "decode-audio", precedence: .media) { [self] in
                run()
                decoding.cancel()
            }
            thread.withLock { $0 = worker }
        } catch {
            presenter?.stop()
            throw error
        }
    }

    /// Adds a packet. It never blocks; the oldest packet is dropped if the queue is full.
    func push(_ frame: EncodedFrame) { queue.push(.packet(frame)) }

    func push(_ audio: AudioFrame) { queue.push(.audio(audio)) }

    func conceal(_ span: TimeSpan) { queue.push(.missing(span)) }

    /// Discards the audio that is queued and not played yet.
    func restart() {
        queue.removeAll()
        presenter?.discardPending()
        shared.withLock { $0.audioEnd = nil }
    }

    /// The output on which others may play audio while nothing is pushed here; nil without one.
    var output: (any AudioOutput)? { presenter.map { LentAudioOutput($0) } }

    /// Accepts no more audio. That which is queued is still played.
    func close() { queue.close() }

    /// Waits until all audio has been played, at most until `deadline`, and stops.
    func finish(by deadline: Instant) {
        queue.close()
        _ = decoding.sleep(until: deadline)
        if presenter != nil, let end = shared.withLock({ $0.audioEnd }) {
            _ = playing.sleep(until: min(end + AudioSchedule.tolerance, deadline))
        }
        stop()
    }

    func stop() {
        playing.cancel()
        queue.removeAll()
        queue.close()
        thread.withLock { $0 }?.join()
        presenter?.stop()
    }

    /// The statistics of the audio output; nil without one.
    var audioDevice: AudioOutputStatistics? { presenter?.statistics }

    /// The volume, 0 to 1. It has no effect without an audio output.
    var volume: Double {
        get { presenter?.volume ?? 1 }
        set { presenter?.volume = newValue }
    }

    private func run() {
        guard let decoder = try? OpusDecoder(channels: 2) else { return }
        var missing = TimeSpan.zero
        var line = AudioPlayoutLine()
        while let entry = queue.pop() {
            switch entry {
            case .missing(let span): missing = min(missing + span, Self.longestConcealment)
            case .audio(let audio): play(audio, on: &line)
            case .packet(let packet):
                if missing > .zero { conceal(missing, before: packet, with: decoder, on: &line) }
                missing = .zero
                guard let audio = try? decoder.decode(packet) else { continue }
                shared.withLock { $0.meter.counts.audioFramesDecoded += 1 }
                play(audio, on: &line)
            }
        }
    }

    private func conceal(
        _ span: TimeSpan, before packet: EncodedFrame, with decoder: OpusDecoder, on line: inout AudioPlayoutLine
    ) {
        guard let audioFrames = try? decoder.conceal(span, before: packet) else { return }
        let isCorrected = OpusCorrection.containsRedundancy(by: packet.bytes)
        for (index, audio) in audioFrames.enumerated() {
            // The last one comes from the error correction of the next packet; the others are extrapolated.
            let isMadeUp = !isCorrected || index < audioFrames.count - 1
            shared.withLock { $0.meter.concealed(audio.length, isMadeUp: isMadeUp) }
            play(audio, on: &line)
        }
    }

    private func play(_ audio: AudioFrame, on line: inout AudioPlayoutLine) {
        let now = MonotonicClock.reference()
        // The time through the device counts as delay, so that video waits for it like for any other delay.
        let ready = now.instant + (presenter?.lead ?? .zero)
        let decision = shared.withLock {
            $0.synchronizer.scheduleAudio(captureTime: audio.captureTime, timestamp: audio.timestamp, at: ready)
        }
        // Audio that arrives after a stall is discarded, so that the delay does not grow by the stall.
        guard case .present(let due) = decision else {
            shared.withLock { $0.meter.silent(for: audio.length) }
            return
        }
        let timedAudio = line.append(audio, due: due, ready: ready)
        let isMuted = shared.withLock { state in
            state.meter.scheduled(timedAudio)
            state.audioEnd = timedAudio.start + timedAudio.audio.length
            if measuresTestSignal {
                state.meter.played(audio, at: timedAudio.start, wallTime: now.wallTime(at: timedAudio.start))
            }
            return state.isMuted
        }
        guard presenter != nil || onAudio != nil else { return }
        let played = isMuted ? timedAudio.audio.silenced : timedAudio.audio
        presenter?.present(played, at: timedAudio.start)
        onAudio?(played, timedAudio.start)
    }
}

/// The audio output of a renderer, which its user does not stop.
private final class LentAudioOutput: AudioOutput {
    private let presenter: AudioPresenter

    init(_ presenter: AudioPresenter) { self.presenter = presenter }

    var lead: TimeSpan { presenter.lead }

    var volume: Double {
        get { presenter.volume }
        set { presenter.volume = newValue }
    }

    func present(_ frame: AudioFrame, at due: Instant) { presenter.present(frame, at: due) }

    func discardPending() { presenter.discardPending() }

    func stop() { presenter.discardPending() }
}

extension AudioFrame {
    /// Silent audio of the same length.
    fileprivate var silenced: AudioFrame {
        var frame = self
        frame.samples = Array(repeating: 0, count: samples.count)
        return frame
    }
}
