import PCastCore
import PCastRTP
import PCastWebRTC

/// The state of a stream's layers.
extension PublishedStream {
    /// The interval at which the layers are reviewed.
    private static let reviewInterval = TimeSpan.milliseconds(200)
    /// A layer without packets for this time does not arrive.
    private static let silence = TimeSpan.milliseconds(1_200)
    /// A wanted layer that does not arrive within this time counts as unavailable for `missingTime`.
    private static let timeout = TimeSpan.seconds(3 as Int64)
    private static let missingTime = TimeSpan.seconds(10 as Int64)

    /// Reviews the layers if a review is due. Returns true if their availability or order changed.
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
            layers[layer].keepsKeyFrame = receiver.ignoresKeyFrameRequests(layer: layer, at: now)
            let isAvailable = comes(layer, at: now)
            ladder.insert(
                LayerLadder.Rung(
                    layer: layer, bitrate: layers[layer].bitrate ?? .kilobits(0),
                    dimensions: layers[layer].dimensions, isAvailable: isAvailable))
        }
        ladder.takeAllForAvailable()
        return !ladder.isOrdered(like: formerLadder)
    }

    /// Whether a layer arrives, or would arrive if a viewer wanted it.
    private mutating func comes(_ layer: Int, at now: Instant) -> Bool {
        if let last = layers[layer].activity.lastArrival, now - last < Self.silence {
            layers[layer].missedSince = nil
            layers[layer].missingUntil = nil
            return true
        }
        if layers[layer].subscribers > 0 {
            let since = layers[layer].missedSince ?? now
            layers[layer].missedSince = since
            if now - since >= Self.timeout { layers[layer].missingUntil = now + Self.missingTime }
        } else {
            layers[layer].missedSince = nil
        }
        if let until = layers[layer].missingUntil, now < until { return false }
        return receiver.isPaused(.video, layer: layer)
    }

    /// Returns the name of a layer: its RID, or its index if it has none.
    func name(of layer: Int) -> String {
        receiver.layers.indices.contains(layer) ? receiver.layers[layer].rid?.text ?? String(layer) : String(layer)
    }

    /// Returns the newest key frame of a layer.
    ///
    /// - Parameters:
    ///   - layer: The layer; nil for none.
    ///   - former: The layer whose timestamps the key frame has to continue; nil for none.
    ///   - lastArrival: The arrival time of the newest packet that was sent to the viewer; nil before the first one.
    ///   - now: The current time.
    /// - Returns: The key frame; nil if there is none.
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

    /// Returns how long a new viewer waits for a key frame that is requested for it. Nil means that none is to be
    /// requested. The source makes none on request, or the key frames of new viewers have used their share of the bit
    /// rate.
    ///
    /// The wait is zero if the publisher is so far away that the viewer catches up sooner without the key frame.
    private func newerKeyFrameWait(_ layer: Int, at now: Instant) -> TimeSpan? {
        guard receiver.canRequestKeyFrames, layers[layer].keyFrameShare.allowsRequest(at: now) else { return nil }
        let isUnanswered = receiver.ignoresKeyFrameRequests(layer: layer, at: now)
        return isUnanswered || (receiver.roundTrip ?? .zero) > Self.nearPublisher ? .zero : Self.longestKeyFrameWait
    }

    /// The time for a round trip to a near publisher, for the capture of the next frame, and for its encoding.
    private static let longestKeyFrameWait = TimeSpan.milliseconds(100)
    /// The maximum round trip to a publisher for which a new viewer waits.
    private static let nearPublisher = TimeSpan.milliseconds(50)

    /// Returns the number of ticks to add to a layer's timestamps to continue those of another, according to the sender
    /// reports of both; nil while there are none.
    func alignment(from former: Int, to layer: Int) -> UInt32? {
        guard let reference = receiver.layers[former].captureClock, let clock = receiver.layers[layer].captureClock
        else { return nil }
        let apart = reference.rate.ticks(in: clock.wallTime - reference.wallTime)
        return reference.timestamp &+ UInt32(truncatingIfNeeded: apart) &- clock.timestamp
    }
}
