import PCastCodecs
import PCastIO
import PCastMedia
import Synchronization

/// The way of the sound: a queue of packets, a thread that decodes them, and the moment at which each is heard.
///
/// A missing packet is made up when the next one has come, which may hold it in part (Opus forward error correction,
/// RFC 6716, section 2.1.7).
final class AudioPipeline: Sendable {
    private enum Entry: Sendable {
        case packet(EncodedFrame)
        case sound(AudioFrame)
        case missing(TimeSpan)
    }

    /// Over a second of sound.
    private static let capacity = 64

    /// A longer gap is silence and not made up.
    private static let longestConcealment = TimeSpan.milliseconds(200)

    private let queue = FrameQueue<Entry>(capacity: AudioPipeline.capacity)
    private let shared: SharedRendererState
    private let onSound: (@Sendable (AudioFrame, Instant) -> Void)?
    private let measuresTestSignal: Bool
    private let presenter: SoundPresenter?
    private let thread = Mutex<WorkerThread?>(nil)

    init(
        shared: SharedRendererState, callbacks: RendererCallbacks, options: RendererOptions
    ) throws(IOError) {
        self.shared = shared
        onSound = callbacks.onSound
        measuresTestSignal = options.measuresTestSignal
        presenter = try options.loudspeaker.map { name throws(IOError) in try SoundPresenter(name: name) }
        do throws(IOError) {
            let worker = try WorkerThread(name: "decode-audio", precedence: .media) { [self] in run() }
            thread.withLock { $0 = worker }
        } catch {
            presenter?.stop()
            throw error
        }
    }

    /// Never blocks; the oldest packet gives way.
    func push(_ frame: EncodedFrame) { queue.push(.packet(frame)) }

    func push(_ sound: AudioFrame) { queue.push(.sound(sound)) }

    func conceal(_ span: TimeSpan) { queue.push(.missing(span)) }

    func stop() {
        queue.removeAll()
        queue.close()
        thread.withLock { $0 }?.join()
        presenter?.stop()
    }

    /// What the loudspeaker has done; nil without one.
    var loudspeaker: LoudspeakerStatistics? { presenter?.statistics }

    /// 0 to 1; of no effect without a loudspeaker.
    var volume: Double {
        get { presenter?.volume ?? 1 }
        set { presenter?.volume = newValue }
    }

    private func run() {
        guard let decoder = try? OpusDecoder(channels: 2) else { return }
        var missing = TimeSpan.zero
        var line = SoundLine()
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
        _ span: TimeSpan, before packet: EncodedFrame, with decoder: OpusDecoder, on line: inout SoundLine
    ) {
        guard let sounds = try? decoder.conceal(span, before: packet) else { return }
        let isCorrected = OpusCorrection.isCarried(by: packet.bytes)
        for (index, sound) in sounds.enumerated() {
            // The last is what the next packet holds of it; the others are made up.
            let isMadeUp = !isCorrected || index < sounds.count - 1
            shared.withLock { $0.meter.concealed(sound.length, isMadeUp: isMadeUp) }
            play(sound, on: &line)
        }
    }

    private func play(_ sound: AudioFrame, on line: inout SoundLine) {
        let now = MonotonicClock.reference()
        // What takes time to get through the device is ready only then: pictures wait for it as for any delay.
        let ready = now.instant + (presenter?.lead ?? .zero)
        let verdict = shared.withLock {
            $0.synchronizer.sound(captureTime: sound.captureTime, timestamp: sound.timestamp, at: ready)
        }
        // What comes after a stall is cut (JB2).
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
    /// As long, and silent.
    fileprivate var silenced: AudioFrame {
        var frame = self
        frame.samples = Array(repeating: 0, count: samples.count)
        return frame
    }
}
