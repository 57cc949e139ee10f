import PCastCore
import PCastRTP

/// Which layer of a stream a viewer gets, and which it is to get.
///
/// It changes only at a key frame of the layer that is wanted, and between two frames of the layer that is left, which is
/// sent until then. Where that would drown the link, the layer is left before the other has come, and the picture stands
/// (SW7). It holds no packets and no times of them: whoever does asks what to do whenever something may have changed.
struct LayerSwitch: Hashable, Sendable {
    /// What there is to begin with: the newest key frame of the layer that is wanted.
    struct KeyFrame: Hashable {
        /// Where it begins in the layer's log.
        var position: Int64
        var arrival: Instant
        /// Whether the sender reports tell how the layer's times stand to those of the layer that is left.
        var isAligned: Bool
        /// How old it may be for who has seen nothing so far (`PublishedTrack.replayAge`).
        var replayAge = LayerSwitch.replayAge
        /// How long a new viewer waits for a newer key frame before it receives the frames that follow this one; nil
        /// where no newer key frame is to be requested for it (`PublishedTrack.keyFrameWait`).
        var newerKeyFrameWait: TimeSpan?
        /// How long a newer key frame is waited for that was requested; later an old one is better than none.
        var answerTime = TimeSpan(nanoseconds: .max)
        /// Whether it arrived after everything that the viewer was sent.
        var isAhead = true
    }

    /// The frames since an old key frame, which a new viewer receives unless a newer key frame comes first.
    struct Replay: Hashable {
        /// Where the old key frame begins in the layer's log.
        var keyFrame: Int64
        /// Until when the frames that follow the key frame are held back.
        var heldUntil: Instant
        /// Whether the key frame is so old that the frames since are more than a burst.
        var isLong: Bool
        /// Whether the key frame has been sent whole.
        var isBehindKeyFrame = false
    }

    /// What to do.
    enum Step: Hashable {
        /// Go on as before.
        case stay
        /// Go on as before, and ask for a key frame of the layer that is wanted.
        case ask(layer: Int)
        /// Begin with the key frame that was offered.
        case change(to: Int)
        /// Begin with the key frame that was offered, and request a newer one.
        case replay(layer: Int)
        /// Send nothing yet: a newer key frame is expected.
        case hold
        /// Send no more video.
        case stop
    }

    /// The layer whose packets are sent; nil while none is.
    private(set) var current: Int?
    /// The one before, or the same: what its numbers and times were is what the viewer knows.
    private(set) var last: Int?
    /// The layer that is wanted; nil for no video.
    private(set) var wanted: Int?
    private var wantedSince = Instant(nanoseconds: 0)
    /// A key frame is needed that has not been asked for.
    private var mustAsk = false
    /// When a key frame was requested that has not come yet.
    private var askedAt: Instant?
    /// Only frames that arrived later than what was sent are shown.
    private var mustAdvance = false
    /// The key frame that came and could not be used.
    private var passedOver: Int64?
    /// The layer that is sent is more than the link carries.
    private(set) var isUrgent = false
    /// Set while a new viewer is behind the newest frame and a newer key frame was requested for it.
    private(set) var replay: Replay?

    /// A key frame that was there before it was wanted is shown to who sees nothing while it is younger than this (KEY2).
    static let replayAge = TimeSpan.milliseconds(500)
    /// To who is shown another layer meanwhile, while it is as good as new: pictures do not go back.
    static let changeAge = TimeSpan.milliseconds(150)
    /// So long the reports of a layer are waited for (SW4).
    static let reportPatience = TimeSpan.milliseconds(300)
    /// So long the end of a frame is waited for, when a packet of it may have been lost before it got here.
    static let framePatience = TimeSpan.milliseconds(60)
    /// So long a layer that is too much goes on while a lower one is waited for.
    static let urgentPatience = TimeSpan.milliseconds(400)

    /// The layer that the viewer sees, or waits to see.
    var shown: Int? { current ?? wanted }

    var isChanging: Bool { current != wanted }

    /// Whether anything but `stay` can come of a step.
    var needsSteps: Bool { isChanging || replay != nil }

    /// What waits to be sent.
    var backlog: Pacer.Backlog {
        guard let replay, replay.isLong else { return .live }
        return replay.isBehindKeyFrame ? .catchUp : .keyFrame
    }

    /// The layers whose packets are needed, as bits.
    var taken: UInt8 { (current.map { 1 << UInt8($0) } ?? 0) | (wanted.map { 1 << UInt8($0) } ?? 0) }

    /// - Parameter urgent: the layer that is sent is more than the link carries.
    mutating func want(_ layer: Int?, urgent: Bool = false, at now: Instant) {
        isUrgent = urgent
        guard layer != wanted else { return }
        replay = nil
        if wanted == nil { mustAdvance = false }
        wanted = layer
        wantedSince = now
        mustAsk = layer != nil && layer != current
        askedAt = nil
        passedOver = nil
    }

    /// The viewer's decoder has lost its way, or what it was sent began anew: nothing is shown until a key frame comes.
    mutating func lose(at now: Instant) {
        current = nil
        replay = nil
        mustAsk = wanted != nil
        askedAt = nil
        mustAdvance = true
        passedOver = nil
    }

    /// How long the wanted layer has been waited for.
    func waited(at now: Instant) -> TimeSpan { isChanging ? now - wantedSince : .zero }

    /// What to do now; `change` and `stop` are taken as done.
    ///
    /// - Parameters:
    ///   - keyFrame: nil while the wanted layer has none.
    ///   - isBetweenFrames: the last packet sent ended a frame.
    ///   - position: where the viewer stands in the log of the layer that is sent; nil while it stands nowhere.
    ///   - isAtEnd: the viewer was sent all that the log holds.
    ///   - acceptsAnyAge: the source cannot be asked for key frames, or leaves requests unanswered (KEY4).
    mutating func step(
        _ keyFrame: KeyFrame?, isBetweenFrames: Bool, position: Int64? = nil, isAtEnd: Bool = false,
        acceptsAnyAge: Bool, at now: Instant
    ) -> Step {
        if let replay, !isChanging {
            return follow(
                replay, keyFrame, isBetweenFrames: isBetweenFrames, position: position, isAtEnd: isAtEnd, at: now)
        }
        guard isChanging else { return .stay }
        guard let wanted else {
            guard isBetweenFrames || now - wantedSince >= Self.framePatience else { return .stay }
            current = nil
            return .stop
        }
        if let keyFrame, isUsable(keyFrame, acceptsAnyAge: acceptsAnyAge, at: now) {
            guard current == nil || isBetweenFrames || now - keyFrame.arrival >= Self.framePatience else {
                return .stay
            }
            return begin(with: keyFrame, of: wanted, at: now)
        }
        if let keyFrame, keyFrame.position != passedOver {
            // It came too early, or before the reports: the next one is asked for.
            passedOver = keyFrame.position
            mustAsk = true
        }
        if mustAsk {
            mustAsk = false
            askedAt = askedAt ?? now
            return .ask(layer: wanted)
        }
        if isUrgent, current != nil, isBetweenFrames, now - wantedSince >= Self.urgentPatience {
            current = nil
            mustAdvance = true
            return .stop
        }
        return .stay
    }

    private mutating func begin(with keyFrame: KeyFrame, of layer: Int, at now: Instant) -> Step {
        let age = now - keyFrame.arrival
        let isNew = last == nil
        current = layer
        last = layer
        mustAsk = false
        askedAt = nil
        mustAdvance = false
        guard age >= Self.replayAge else { return .change(to: layer) }
        let isLong = age >= keyFrame.replayAge
        guard isNew, let wait = keyFrame.newerKeyFrameWait else {
            if isLong { replay = Replay(keyFrame: keyFrame.position, heldUntil: now, isLong: true) }
            return .change(to: layer)
        }
        let heldUntil = isLong ? now : now + wait
        replay = Replay(keyFrame: keyFrame.position, heldUntil: heldUntil, isLong: isLong)
        return .replay(layer: layer)
    }

    /// Skips to a newer key frame as soon as one has come and the frame being sent is whole. The frames between the two key
    /// frames are left out: the viewer would only decode them to reach the newest frame later.
    private mutating func follow(
        _ replay: Replay, _ keyFrame: KeyFrame?, isBetweenFrames: Bool, position: Int64?, isAtEnd: Bool, at now: Instant
    ) -> Step {
        guard let keyFrame, let position, keyFrame.position >= replay.keyFrame else {
            self.replay = nil
            return .stay
        }
        guard isBetweenFrames else { return .stay }
        if keyFrame.position > replay.keyFrame {
            self.replay = nil
            return keyFrame.position >= position ? .change(to: current!) : .stay
        }
        if position > replay.keyFrame { self.replay?.isBehindKeyFrame = true }
        if now < replay.heldUntil { return position <= replay.keyFrame ? .stay : .hold }
        if isAtEnd { self.replay = nil }
        return .stay
    }

    private func isUsable(_ keyFrame: KeyFrame, acceptsAnyAge: Bool, at now: Instant) -> Bool {
        let age = now - keyFrame.arrival
        if current == nil {
            if age < (last == nil ? keyFrame.replayAge : Self.replayAge) { return true }
            guard keyFrame.isAhead || !mustAdvance else { return false }
            return acceptsAnyAge || askedAt.map { now - $0 >= keyFrame.answerTime } ?? false
        }
        guard age < Self.changeAge else { return false }
        return keyFrame.isAligned || now - wantedSince >= Self.reportPatience
    }
}
