import PCastMedia
import PCastRTP

/// Pictures are left out while the path to the platform is emptied of those that it did not carry; sound goes on.
extension PeerConnection {
    /// What the video of one path waits for.
    struct VideoDrain {
        let link: LinkDrain
        /// The layers that begin anew afterwards, as bits.
        var layers: UInt8
    }

    /// Who lost something asks for a key frame: at once, or once the path that lost it has room for it.
    mutating func answerKeyFrameRequests(_ layers: UInt8, at now: Instant) {
        if drain != nil {
            drain!.layers |= layers
        } else if sender?.value.isCongested == true {
            var lost: UInt8 = 0
            for layer in localLayers.indices where layers & 1 << UInt8(layer) != 0 {
                if !LinkDrain.hasFreshKeyFrame(localLayers[layer].value.log, at: now) { lost |= 1 << UInt8(layer) }
            }
            if lost != 0 { leaveOutVideo(lost, at: now) }
        } else {
            noteKeyFrameRequests(layers)
        }
    }

    /// Leaves out what waits if that has waited for too long.
    mutating func leaveOutStale(at now: Instant) {
        guard drain == nil, sender?.value.isCongested == true else { return }
        for layer in localLayers.indices {
            let local = localLayers[layer]
            guard let since = sender?.value.layer(layer)?.pointee.stream.waiting(in: local.value.log)?.since,
                LinkDrain.isDue(waiting: since, in: local.value.log, at: now)
            else { continue }
            return leaveOutVideo(1 << UInt8(layer), at: now)
        }
    }

    private mutating func leaveOutVideo(_ layers: UInt8, at now: Instant) {
        var layers = layers
        for layer in localLayers.indices {
            let local = localLayers[layer]
            if sender?.value.layer(layer)?.pointee.stream.waiting(in: local.value.log) != nil {
                layers |= 1 << UInt8(layer)
            }
            // One of which nothing waits has nothing to leave out, and what it lost is sent again.
            guard layers & 1 << UInt8(layer) != 0 else { continue }
            sender?.value.layer(layer)?.pointee.stream.leaveOut(of: local.value.log)
            awaitsKeyFrame[layer] = true
        }
        drain = VideoDrain(link: LinkDrain(since: now), layers: layers)
    }

    /// Asks for key frames once there is room for them.
    mutating func followDrain(at now: Instant) {
        guard let waiting = drain, let estimate = sender?.value.estimate, waiting.link.isOver(estimate, at: now) else {
            return
        }
        drain = nil
        noteKeyFrameRequests(waiting.layers)
    }
}
