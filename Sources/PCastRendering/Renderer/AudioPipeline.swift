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
        case sound(AudioFrame)
        case missing(TimeSpan)
    }

    /// The size of the queue, more than a second of audio.
    private static let capacity = 64

    /// The longest gap that is concealed. The rest is silence.
    private static let longestConcealment = TimeSpan.milliseconds(200)

    private let queue = FrameQueue<Entry>(capacity: AudioPipeline.capacity)
    private let shared: SharedRendererState
    private let onSound: (@Sendable (AudioFrame, Instant) -> Void)?
    private let measuresTestSignal: Bool
    private let presenter: AudioPresenter?
    private let thread = Mutex<WorkerThread?>(nil)

    init(
        shared: SharedRendererState, callbacks: RendererCallbacks, options: RendererOptions
    ) throws(IOError) {
        self.shared = shared
        onSound = callbacks.onSound
        measuresTestSignal = options.measuresTestSignal
        presenter = try options.loudspeaker.map { name throws(IOError) in try AudioPresenter(name: name) }
        do throws(IOError) {
            let worker = try WorkerThread(name: "decode-audio", precedence: .media) { [self] in run() }
            thread.withLock { $0 = worker }
        } catch {
            presenter?.stop()
            throw error
        }
    }

    /// Adds a packet. It never blocks; the oldest packet is dropped if the queue is full.
    func push(_ frame: EncodedFrame) { queue.push(.packet(frame)) }

    func push(_ sound: AudioFrame) { queue.push(.sound(sound)) }

    func conceal(_ span: TimeSpan) { queue.push(.missing(span)) }

    func stop() {
        queue.removeAll()
        queue.close()
        thread.withLock { $0 }?.join()
        presenter?.stop()
    }

    /// The statistics of the audio output; nil without one.
    var loudspeaker: LoudspeakerStatistics? { presenter?.statistics }

    /// The volume, 0 to 1. It has no effect without an audio output.
    var volume: Double {
        get { presenter?.volume ?? 1 }
        set { presenter?.volume = newValue }
    }

    private func run() {
        guard let decoder = try? OpusDecoder(channels: 2) else { return }
        var missing = TimeSpan.zero
        var line = AudioLine()
        while let entry = queue.pop() {
            switch entry {
            case .missing(let span): missing = min(missing + span, Self.longestConcealment)
            case .sound(let sound): play(sound, on: &line)
            case .packet(let packet):
                if missing > .zero { conceal(missing, before: packet, with: decoder, on: &line) }
                missing = .zero
                guard let sound = try? decoder.decode(packet) else { continue }
                shared.withLock { $0.meter.counts.soundsDecoded += 1 }
                play(sound, on: &line)
            }
        }
    }

    private func conceal(
        _ span: TimeSpan, before packet: EncodedFrame, with decoder: OpusDecoder, on line: inout AudioLine
    ) {
        guard let sounds = try? decoder.conceal(span, before: packet) else { return }
        let isCorrected = OpusCorrection.isCarried(by: packet.bytes)
        for (index, sound) in sounds.enumerated() {
            // The last one comes from the error correction of the next packet; the others are extrapolated.
            let isMadeUp = !isCorrected || index < sounds.count - 1
            shared.withLock { $0.meter.concealed(sound.length, isMadeUp: isMadeUp) }
            play(sound, on: &line)
        }
    }

    private func play(_ sound: AudioFrame, on line: inout AudioLine) {
        let now = MonotonicClock.reference()
        // The time through the device counts as delay, so that video waits for it like for any other delay.
        let ready = now.instant + (presenter?.lead ?? .zero)
        let verdict = shared.withLock {
            $0.synchronizer.sound(captureTime: sound.captureTime, timestamp: sound.timestamp, at: ready)
        }
        // Audio that arrives after a stall is discarded, so that the delay does not grow by the stall.
        guard case .present(let due) = verdict else {
            shared.withLock { $0.meter.silent(for: sound.length) }
            return
        }
        let placed = line.lay(sound, due: due, ready: ready)
        let isMuted = shared.withLock { state in
            state.meter.laid(placed)
            if measuresTestSignal {
                state.meter.played(sound, at: placed.start, wallTime: now.wallTime(at: placed.start))
            }
            return state.isMuted
        }
        guard presenter != nil || onSound != nil else { return }
        let heard = isMuted ? placed.sound.silenced : placed.sound
        presenter?.present(heard, at: placed.start)
        onSound?(heard, placed.start)
    }
}

extension AudioFrame {
    /// Silent audio of the same length.
    fileprivate var silenced: AudioFrame {
        var frame = self
        frame.samples = Array(repeating: 0, count: samples.count)
        return frame
    }
}
