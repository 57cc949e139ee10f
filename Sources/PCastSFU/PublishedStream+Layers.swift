import PCastCore
import PCastRTP
import PCastWebRTC

/// What there is of a stream's layers.
extension PublishedStream {
    /// How often they are looked at.
    private static let reviewInterval = TimeSpan.milliseconds(200)
    /// A layer of which nothing came for so long does not come.
    private static let silence = TimeSpan.milliseconds(1_200)
    /// One that somebody wants and that does not come within this time is not counted on for a while.
    private static let timeout = TimeSpan.seconds(3 as Int64)
    private static let missingTime = TimeSpan.seconds(10 as Int64)

    /// Looks at the layers, if it is time to; true when some came or went, or changed places.
    mutating func reviewLayers(_ clock: WallClockReference, at now: Instant) -> Bool {
        if let nextReview, now < nextReview { return false }
        nextReview = now + Self.reviewInterval
        followArrivals(clock, at: now)
        if let bitrate = audio.activity.bitrate(at: now) { audio.bitrate = bitrate }
        guard layers.exist else { return false }
        swap(&ladder, &formerLadder)
        ladder.removeAll()
        for layer in layers.indices {
            if let bitrate = layers[layer].activity.bitrate(at: now) { layers[layer].bitrate = bitrate }
            layers[layer].keepsKeyFrame = receiver.leavesRequestsUnanswered(layer: layer, at: now)
            let isAvailable = comes(layer, at: now)
            ladder.insert(
                LayerLadder.Rung(
                    layer: layer, bitrate: layers[layer].bitrate ?? .kilobits(0),
                    dimensions: layers[layer].dimensions, isAvailable: isAvailable))
        }
        ladder.takeAllForAvailable()
        return !ladder.isOrdered(like: formerLadder)
    }

    /// Whether a layer comes, or would if somebody wanted it.
    private mutating func comes(_ layer: Int, at now: Instant) -> Bool {
        if let last = layers[layer].activity.lastArrival, now - last < Self.silence {
            layers[layer].missedSince = nil
            layers[layer].missingUntil = nil
            return true
        }
        if layers[layer].takers > 0 {
            let since = layers[layer].missedSince ?? now
            layers[layer].missedSince = since
            if now - since >= Self.timeout { layers[layer].missingUntil = now + Self.missingTime }
        } else {
            layers[layer].missedSince = nil
        }
        if let until = layers[layer].missingUntil, now < until { return false }
        return receiver.isResting(.video, layer: layer)
    }

    /// What a layer is called: as the publisher does, or by its place.
    func name(of layer: Int) -> String {
        receiver.layers.indices.contains(layer) ? receiver.layers[layer].rid?.text ?? String(layer) : String(layer)
    }

    /// The newest key frame of a layer; nil where there is none.
    ///
    /// - Parameters:
    ///   - former: the layer whose times it has to follow.
    ///   - lastArrival: when the newest packet arrived that the viewer was sent; nil where it was sent none.
    func keyFrame(
        of layer: Int?, following former: Int?, after lastArrival: Instant?, at now: Instant
    ) -> LayerSwitch.KeyFrame? {
        guard let layer, let position = layers[layer].log.newestKeyFrame else { return nil }
        let isAligned = former.map { $0 == layer || alignment(from: $0, to: layer) != nil } ?? true
        let arrival = layers[layer].log[position].arrival
        return LayerSwitch.KeyFrame(
            position: position, arrival: arrival, isAligned: isAligned, replayAge: layers[layer].replayAge,
            newerKeyFrameWait: former == nil ? newerKeyFrameWait(layer, at: now) : nil,
            answerTime: receiver.answerTime(layer: layer),
            isAhead: lastArrival.map { arrival > $0 } ?? true)
    }

    /// How long a new viewer waits for a key frame that is requested for it; nil where none is to be requested: the source
    /// makes none on request, or the key frames of new viewers have had their share of the bitrate.
    ///
    /// The wait is zero where the publisher is so far away that the viewer catches up sooner without the key frame.
    private func newerKeyFrameWait(_ layer: Int, at now: Instant) -> TimeSpan? {
        guard receiver.canRequestKeyFrames, layers[layer].keyFrameShare.allowsRequest(at: now) else { return nil }
        let isUnanswered = receiver.leavesRequestsUnanswered(layer: layer, at: now)
        return isUnanswered || (receiver.roundTrip ?? .zero) > Self.nearPublisher ? .zero : Self.longestKeyFrameWait
    }

    /// Enough for a round trip to a publisher that is near, for the next frame to be captured and for its encoding.
    private static let longestKeyFrameWait = TimeSpan.milliseconds(100)
    private static let nearPublisher = TimeSpan.milliseconds(50)

    /// What a layer's timestamps need added to be another's, as the publisher's reports of both tell; nil while they do
    /// not (SW3).
    func alignment(from former: Int, to layer: Int) -> UInt32? {
        guard let reference = receiver.layers[former].captureClock, let clock = receiver.layers[layer].captureClock
        else { return nil }
        let apart = reference.rate.ticks(in: clock.wallTime - reference.wallTime)
        return reference.timestamp &+ UInt32(truncatingIfNeeded: apart) &- clock.timestamp
    }
}
