import PCastCore
import PCastRTP

/// The state machine that switches a viewer from one layer of a stream to another.
///
/// It switches only at a key frame of the wanted layer, and between two frames of the current layer, which is sent
/// until then. If the current layer would overload the link, it is left before the new one arrives, and video freezes
/// meanwhile. The type holds no packets. Its caller asks for the next step whenever something may have changed.
struct LayerSwitch: Hashable, Sendable {
    /// The newest key frame of the wanted layer.
    struct KeyFrame: Hashable {
        /// The position of its first packet in the layer's log.
        var position: Int64
        /// The time at which its first packet arrived.
        var arrival: Instant
        /// Whether sender reports relate the layer's timestamps to those of the layer that is left.
        var isAligned: Bool
        /// The maximum age of the key frame for a viewer that has received no frame yet (`PublishedTrack.replayAge`).
        var replayAge = LayerSwitch.replayAge
        /// The time that a new viewer waits for a newer key frame before it receives the frames that follow this one.
        /// Nil if no newer key frame is to be requested (`PublishedStream.newerKeyFrameWait`).
        var newerKeyFrameWait: TimeSpan?
        /// The time to wait for a requested key frame. After it, an old key frame is better than none.
        var answerTime = TimeSpan(nanoseconds: .max)
        /// Whether it arrived after everything that was sent to the viewer.
        var isAhead = true
    }

    /// The frames since an old key frame, which a new viewer receives unless a newer key frame arrives first.
    struct Replay: Hashable {
        /// The position of the old key frame's first packet in the layer's log.
        var keyFrame: Int64
        /// The time until which the frames after the key frame are held back.
        var heldUntil: Instant
        /// Whether the key frame is so old that the frames since are more than a burst.
        var isLong: Bool
        /// Whether the whole key frame has been sent.
        var isBehindKeyFrame = false
    }

    /// The action that the caller has to take.
    enum Step: Hashable {
        /// Continue to send as before.
        case stay
        /// Continue to send as before, and request a key frame of the wanted layer.
        case ask(layer: Int)
        /// Begin with the key frame of the wanted layer.
        case change(to: Int)
        /// Begin with the key frame of the wanted layer, and request a newer one.
        case replay(layer: Int)
        /// Send nothing yet, because a newer key frame is expected.
        case hold
        /// Stop sending video.
        case stop
    }

    /// The layer whose packets are sent; nil while none is sent.
    private(set) var current: Int?
    /// The current layer or, without one, the previous layer. The viewer knows its sequence numbers and timestamps.
    private(set) var last: Int?
    /// The wanted layer; nil for no video.
    private(set) var wanted: Int?
    private var wantedSince = Instant(nanoseconds: 0)
    /// Whether a key frame is needed that has not been requested.
    private var mustAsk = false
    /// The time of the request for a key frame that has not arrived; nil if there is none.
    private var askedAt: Instant?
    /// Whether only frames may be shown that arrived later than what was sent.
    private var mustAdvance = false
    /// The time at which the viewer was sent no video any more because it wanted none; nil if it has video again.
    private var stoppedAt: Instant?
    /// The position of a key frame that arrived and could not be used.
    private var skippedPosition: Int64?
    /// Whether the current layer exceeds what the link carries.
    private(set) var isUrgent = false
    /// The replay in progress; nil unless a new viewer is behind the newest frame.
    private(set) var replay: Replay?

    /// The maximum age of a key frame from before it was wanted, for a viewer that sees no video.
    static let replayAge = TimeSpan.milliseconds(500)
    /// The maximum age of a key frame for a viewer that still receives another layer, so that its video does not go
    /// back.
    static let changeAge = TimeSpan.milliseconds(150)
    /// The time without video after which a viewer that wants it again may go back to an earlier key frame.
    static let goingBackTime = TimeSpan.seconds(1 as Int64)
    /// The maximum time that a switch waits for the sender reports of a layer.
    static let reportTimeout = TimeSpan.milliseconds(300)
    /// The maximum time that a switch waits for the end of a frame, of which a packet may have been lost upstream.
    static let frameTimeout = TimeSpan.milliseconds(60)
    /// The maximum time that a layer above the link's rate is still sent while a lower one is awaited.
    static let urgentTimeout = TimeSpan.milliseconds(400)

    /// The layer that the viewer sees or waits for.
    var shown: Int? { current ?? wanted }

    var isChanging: Bool { current != wanted }

    /// Whether a step can be anything but `stay`.
    var needsSteps: Bool { isChanging || replay != nil }

    /// The kind of packets that wait to be sent, by which they are paced.
    var backlog: Pacer.Backlog {
        guard let replay, replay.isLong else { return .live }
        return replay.isBehindKeyFrame ? .catchUp : .keyFrame
    }

    /// The layers whose packets are needed, as bits.
    var neededLayers: UInt8 { (current.map { 1 << UInt8($0) } ?? 0) | (wanted.map { 1 << UInt8($0) } ?? 0) }

    /// Sets the wanted layer. `urgent` means that the current layer exceeds what the link carries.
    mutating func select(_ layer: Int?, urgent: Bool = false, at now: Instant) {
        isUrgent = urgent
        guard layer != wanted else { return }
        replay = nil
        if wanted == nil { mustAdvance = false }
        wanted = layer
        wantedSince = now
        mustAsk = layer != nil && layer != current
        askedAt = nil
        skippedPosition = nil
    }

    /// Stops the current layer until a key frame arrives. The viewer's decoder lost its reference, or the source
    /// restarted.
    mutating func restart(at now: Instant) {
        current = nil
        replay = nil
        mustAsk = wanted != nil
        askedAt = nil
        mustAdvance = true
        skippedPosition = nil
    }

    /// The time for which the wanted layer has been awaited.
    func waited(at now: Instant) -> TimeSpan { isChanging ? now - wantedSince : .zero }

    /// Returns the action to take. After `change` and `stop` it assumes that the action was taken.
    ///
    /// - Parameters:
    ///   - keyFrame: The newest key frame of the wanted layer; nil while there is none.
    ///   - isBetweenFrames: Whether the last packet sent ended a frame.
    ///   - position: The viewer's position in the log of the current layer; nil without one.
    ///   - isAtEnd: Whether the viewer was sent everything in the log.
    ///   - acceptsAnyAge: Whether the source cannot be asked for key frames, or leaves requests unanswered.
    ///   - now: The current time.
    /// - Returns: The action to take.
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
            guard isBetweenFrames || now - wantedSince >= Self.frameTimeout else { return .stay }
            current = nil
            stoppedAt = now
            return .stop
        }
        if let keyFrame, isUsable(keyFrame, acceptsAnyAge: acceptsAnyAge, at: now) {
            guard current == nil || isBetweenFrames || now - keyFrame.arrival >= Self.frameTimeout else {
                return .stay
            }
            return begin(with: keyFrame, of: wanted, at: now)
        }
        if let keyFrame, keyFrame.position != skippedPosition {
            // It came too early, or before the sender reports. The next key frame is requested.
            skippedPosition = keyFrame.position
            mustAsk = true
        }
        if mustAsk {
            mustAsk = false
            askedAt = askedAt ?? now
            return .ask(layer: wanted)
        }
        if isUrgent, current != nil, isBetweenFrames, now - wantedSince >= Self.urgentTimeout {
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
        stoppedAt = nil
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

    /// Skips to a newer key frame as soon as one has arrived and the current frame is complete. The frames between the
    /// two key frames are left out, because decoding them would only delay the newest frame.
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
            let isRecent = stoppedAt.map { now - $0 < Self.goingBackTime } ?? false
            guard keyFrame.isAhead || !(mustAdvance || isRecent) else { return false }
            return acceptsAnyAge || askedAt.map { now - $0 >= keyFrame.answerTime } ?? false
        }
        guard age < Self.changeAge else { return false }
        return keyFrame.isAligned || now - wantedSince >= Self.reportTimeout
    }
}
