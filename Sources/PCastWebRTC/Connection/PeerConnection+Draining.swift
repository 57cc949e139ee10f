import PCastCore
import PCastRTP

/// Dropping of queued video while the path to the platform is congested. Audio continues.
extension PeerConnection {
    /// The state while the link drains and no video is sent.
    struct VideoPause {
        let link: CongestionPause
        /// The layers that need a key frame afterwards, as a bit mask.
        var layers: UInt8
    }

    /// Handles key-frame requests for layers, given as a bit mask. If the link is congested, the key frame is requested
    /// from the encoder only after the link has drained.
    mutating func answerKeyFrameRequests(_ layers: UInt8, at now: Instant) {
        if drain != nil {
            drain!.layers |= layers
        } else if sender?.value.isCongested == true {
            var lost: UInt8 = 0
            for layer in localLayers.indices where layers & 1 << UInt8(layer) != 0 {
                if !CongestionPause.hasFreshKeyFrame(localLayers[layer].value.log, at: now) {
                    lost |= 1 << UInt8(layer)
                }
            }
            if lost != 0 { dropQueuedVideo(lost, at: now) }
        } else {
            noteKeyFrameRequests(layers)
        }
    }

    /// Drops the queued video if it has been queued too long.
    mutating func dropStaleVideo(at now: Instant) {
        guard drain == nil, sender?.value.isCongested == true else { return }
        for layer in localLayers.indices {
            let local = localLayers[layer]
            guard let since = sender?.value.layer(layer)?.pointee.stream.waiting(in: local.value.log)?.since,
                CongestionPause.isDue(waiting: since, in: local.value.log, at: now)
            else { continue }
            return dropQueuedVideo(1 << UInt8(layer), at: now)
        }
    }

    /// Drops the queued packets of layers and of all others that have any, and waits until the link has drained.
    private mutating func dropQueuedVideo(_ layers: UInt8, at now: Instant) {
        var layers = layers
        for layer in localLayers.indices {
            let local = localLayers[layer]
            if sender?.value.layer(layer)?.pointee.stream.waiting(in: local.value.log) != nil {
                layers |= 1 << UInt8(layer)
            }
            // A layer without queued packets has nothing to drop, and its losses are repaired by retransmission.
            guard layers & 1 << UInt8(layer) != 0 else { continue }
            sender?.value.layer(layer)?.pointee.stream.dropFrame(of: local.value.log)
            awaitsKeyFrame[layer] = true
        }
        drain = VideoPause(link: CongestionPause(since: now), layers: layers)
    }

    /// Requests key frames once the link has drained.
    mutating func followDrain(at now: Instant) {
        guard let waiting = drain, let estimate = sender?.value.estimate, waiting.link.isOver(estimate, at: now) else {
            return
        }
        drain = nil
        noteKeyFrameRequests(waiting.layers)
    }
}
