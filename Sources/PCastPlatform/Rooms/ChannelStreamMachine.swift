import PCastCore
import PCastSFU

/// The decisions about the stream that viewers of a channel's name receive: when it exists, and whose media it has.
///
/// It is a state machine without I/O. The driver calls `advance(to:_:)` from time to time, and performs the outputs.
struct ChannelStreamMachine {
    /// The stream of a presenter, with its publisher.
    struct Presenter: Hashable, Sendable {
        let stream: StreamID
        /// The publisher, which is another one after the presenter has reconnected.
        let publisher: PeerID
        /// Whether media arrive with which a viewer could begin.
        var isDecodable = false

        func isSame(as other: Presenter?) -> Bool { stream == other?.stream && publisher == other?.publisher }
    }

    /// The observations of a driver.
    struct Observations: Hashable, Sendable {
        /// The presenters whose streams are available, the preferred one first.
        var presenters: [Presenter] = []
        /// Whether the selected presenter stays while it is available, although another one is preferred.
        var keepsPresenter = false
        /// Whether clients view the stream, or wait for it.
        var isViewed = false
        /// Whether a client wants the stream before there is a presenter.
        var isAwaited = false
    }

    /// An action of the driver.
    enum Output: Hashable, Sendable {
        /// Creates the stream with the tracks of a presenter, or with those of any presenter if it is nil.
        case open(like: Presenter?)
        /// Forwards the media of a presenter from its next key frame on.
        case select(Presenter)
        /// Forwards no media, until a presenter is selected.
        case deselect
        /// Ends the stream.
        case close
    }

    /// Whether the stream exists, or is created.
    private(set) var isOpen = false
    /// The presenter whose media are forwarded; nil for none. It may have left a moment ago.
    private(set) var selected: Presenter?
    private var outputs: [Output] = []
    /// The time since which nobody views the stream; nil while somebody does.
    private var unviewedSince: Instant?
    /// The time since which there is no presenter; nil while there is one.
    private var vacantSince: Instant?
    /// The time before which nothing is tried again after a failure.
    private var retriesAfter: Instant?

    /// The time for which the media of a presenter are forwarded after it has left, in case it returns. Clients of rooms
    /// wait as long.
    static let leavingTime = TimeSpan.milliseconds(400)
    /// The time without viewers after which the stream ends.
    static let closeAfter = TimeSpan.seconds(30)
    /// The time without a presenter after which a stream with viewers ends, as that of a declared name.
    static let longestGap = NamedStreamMachine.longestGap
    /// The time from a failure until the next attempt.
    static let retryTime = TimeSpan.seconds(1)

    /// Whether the machine has nothing to remember: there is no stream, and no attempt has failed a moment ago.
    func isIdle(at now: Instant) -> Bool { !isOpen && (retriesAfter.map { $0 <= now } ?? true) }

    /// Performs what is due.
    mutating func advance(to now: Instant, _ observations: Observations) {
        unviewedSince = observations.isViewed ? nil : unviewedSince ?? now
        vacantSince = observations.presenters.isEmpty ? vacantSince ?? now : nil
        if isOpen, isOverdue(at: now) { return close() }
        if selected != nil, let vacantSince, now - vacantSince >= Self.leavingTime { deselect() }
        guard retriesAfter.map({ $0 <= now }) ?? true else { return }
        guard let best = best(of: observations) else {
            guard !isOpen, observations.isAwaited else { return }
            // A stream that replaces one which has ended without a presenter waits as long as that one did.
            (isOpen, vacantSince) = (true, now)
            return outputs.append(.open(like: nil))
        }
        if !isOpen {
            guard observations.isViewed else { return }
            isOpen = true
            outputs.append(.open(like: best))
        }
        guard !best.isSame(as: selected) else { return }
        // The media of a presenter that has left are not forwarded until another one has media.
        let isPresent = observations.presenters.contains { $0.isSame(as: selected) }
        if selected != nil, !isPresent, !best.isDecodable { deselect() }
        selected = best
        outputs.append(.select(best))
    }

    /// Ends the stream, because the channel has ended.
    mutating func end() { if isOpen { close() } }

    /// Records that the stream could not be created, or that it has ended by itself.
    mutating func closed(at now: Instant) {
        reopens()
        retriesAfter = now + Self.retryTime
    }

    /// Records that the stream has ended because its tracks do not fit the presenter. The next viewers get another one.
    mutating func reopens() {
        isOpen = false
        selected = nil
        outputs = []
    }

    /// Records that the media of the selected presenter could not be forwarded, so that it is selected again. Those of the
    /// former presenter are not forwarded any more, because nothing would end that when it leaves.
    mutating func selectionFailed(at now: Instant) {
        deselect()
        retriesAfter = now + Self.retryTime
    }

    /// Removes and returns the outputs in their order.
    mutating func takeOutputs() -> [Output] {
        defer { outputs = [] }
        return outputs
    }

    private func isOverdue(at now: Instant) -> Bool {
        unviewedSince.map { now - $0 >= Self.closeAfter } ?? false
            || vacantSince.map { now - $0 >= Self.longestGap } ?? false
    }

    private mutating func deselect() {
        selected = nil
        outputs.append(.deselect)
    }

    private mutating func close() {
        isOpen = false
        selected = nil
        outputs.append(.close)
    }

    /// Returns the presenter whose media are forwarded: the preferred one of those with media, or else the present one.
    private func best(of observations: Observations) -> Presenter? {
        let current = observations.presenters.first { $0.isSame(as: selected) }
        if observations.keepsPresenter, let current, current.isDecodable { return current }
        return observations.presenters.first(where: \.isDecodable) ?? current ?? observations.presenters.first
    }
}
