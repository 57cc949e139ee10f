import PCastCore

@testable import PCastPlayback

/// A presentation on virtual time with a reader that takes no time, or waits where it is notified to.
struct VirtualPlayback {
    struct Shown {
        var number: Int
        var at: Instant
    }

    struct Heard {
        var audio: AudioFrame
        var at: Instant
    }

    static let origin = Instant(nanoseconds: 7_000_000_000)

    var media: StampedMedia
    var reading: StampedReading
    var presentation: MediaPresentation
    var now = VirtualPlayback.origin
    /// The position up to which the media can be read; nil for the end.
    var gate: TimeSpan?
    /// The error that is thrown at the gate.
    var failure: PlaybackError?
    var overview: ContentOverview
    /// The delay of the presenter.
    var lateness: () -> TimeSpan = { .zero }

    var shown: [Shown] = []
    /// The audio without what was withdrawn before it was heard.
    var heard: [Heard] = []
    var events: [(event: PipelineEvent, at: Instant)] = []
    var wakes = 0
    var seeks: [TimeSpan] = []

    init(_ media: StampedMedia = StampedMedia(), lead: TimeSpan = .milliseconds(40)) {
        self.media = media
        reading = StampedReading(media)
        overview = media.overview
        presentation = MediaPresentation(at: now)
        presentation.audioOutputLatency = lead
    }

    /// Runs until an instant.
    mutating func run(until end: Instant) {
        while true {
            read()
            while let output = presentation.poll(at: now) {
                perform(output)
                read()
            }
            wakes += 1
            precondition(wakes < 200_000, "the presentation never becomes idle")
            guard let deadline = presentation.deadline(at: now) else { break }
            let next = max(deadline + lateness(), now + .microseconds(1))
            if next > end { break }
            now = next
        }
        now = max(now, end)
    }

    mutating func run(for span: TimeSpan) { run(until: now + span) }

    /// Performs the work of the reader.
    private mutating func read() {
        while true {
            switch presentation.readerTask() {
            case .rest: return
            case .open: presentation.opened(overview, at: reading.position ?? .zero, now: now)
            case .select(let track, let kind):
                overview.selected = overview.selected.filter { id in
                    overview.tracks.first { $0.id == id }?.kind != kind
                }
                if let track { overview.selected.insert(track) }
                presentation.selected(track, of: kind, overview: overview)
            case .seek(let position, let epoch):
                seeks.append(position)
                reading = StampedReading(media, at: position)
                presentation.finishSeek(to: position, of: epoch)
            case .read(let epoch):
                if let gate, let position = reading.position, position >= gate {
                    if let failure { presentation.failed(failure, at: now) }
                    return
                }
                if let item = reading.next() {
                    presentation.take(item, of: epoch, at: now)
                } else {
                    presentation.reachedEnd(of: epoch, at: now)
                }
            }
        }
    }

    private mutating func perform(_ output: MediaPresentation.Output) {
        switch output {
        case .show(let frame):
            shown.append(Shown(number: TestPatternStrip.read(frame).map { Int($0.counter) } ?? -1, at: now))
        case .play(let audio, let due): heard.append(Heard(audio: audio, at: due))
        case .discardAudio: heard.removeAll { $0.at > now }
        case .event(let event): events.append((event, now))
        case .interruptReader: break
        }
    }

    // MARK: Reported events

    func kinds(of epoch: PlayheadEpoch? = nil) -> [String] {
        events.filter { epoch == nil || $0.event.epoch == epoch }.compactMap { $0.event.kind.word }
    }

    var landings: [TimeSpan] {
        events.compactMap { if case .landed(let position) = $0.event.kind { position } else { nil } }
    }
}

extension PipelineEvent.Kind {
    /// The name of the event; nil for positions, which are as many as frames.
    var word: String? {
        switch self {
        case .overview: "overview"
        case .buffering(let buffering): buffering ? "buffering" : "filled"
        case .landed: "landed"
        case .arrived, .position: nil
        case .subtitle(let text): "subtitle \(text ?? "-")"
        case .metadata(let metadata): "metadata \(metadata.value)"
        case .dimensions(let dimensions): "\(dimensions.width)x\(dimensions.height)"
        case .evicted: "evicted"
        case .ended: "ended"
        case .failed: "failed"
        }
    }
}
