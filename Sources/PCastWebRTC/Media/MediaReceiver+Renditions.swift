package import PCastCore
import PCastRTP

/// Layers that a process of the platform makes of the only layer of the peer. The peer knows nothing of them. Their
/// packets have the peer's timestamps, and the peer's codec or H.264.
extension MediaReceiver {
    /// The layers that the peer sends.
    package var sentLayers: Range<Int> { 0..<layers.count - renditionCount }

    /// Adds layers, which are not offered yet. It does nothing if the peer sends no video or several layers.
    ///
    /// - Parameters:
    ///   - names: The names of the layers, which are valid as RIDs.
    ///   - ssrcs: An SSRC for each layer.
    package mutating func addRenditions(named names: [String], ssrcs: [UInt32]) {
        guard layers.count == 1, layers[0].rid == nil else { return }
        guard let media = renditionMedia(of: layers[0].media) else { return }
        for (name, ssrc) in zip(names, ssrcs) {
            guard let rid = RTPStreamIdentifier(name) else { continue }
            layers.append(InboundTrack(renditionOf: media, rid: rid, ssrc: ssrc))
            renditionCount += 1
        }
        guard renditionCount > 0, media.codec != layers[0].media.codec else { return }
        addRoutes(media.format, type: .video)
        renditionPayloadType = media.payloadType
    }

    /// Returns the media section of the layers, with a payload type of their own if they have another codec than the peer.
    /// Returns nil if no payload type is free.
    private func renditionMedia(of source: NegotiatedMedia) -> NegotiatedMedia? {
        let codec = Rendition.codec(of: source.codec)
        guard codec != source.codec else { return source }
        guard let payloadType = (UInt8(96)...127).last(where: { routes[Int($0)] == nil }) else { return nil }
        var media = source
        // The profile does not count for viewers, and the level is that of the sequence parameter set.
        media.format = PayloadFormat(
            codec: codec, payloadType: payloadType,
            h264: H264Format(profile: .constrainedBaseline, level: .level52))
        media.acceptablePayloads = [media.format]
        media.extensionMap = RTPHeaderExtensionMap()
        return media
    }

    /// Returns whether a layer is one that the peer does not send.
    package func isRendition(_ layer: Int) -> Bool { layer >= sentLayers.upperBound && layer < layers.count }

    /// Sets whether the layers that the peer does not send can be made. If not, they do not arrive any more.
    package mutating func offerRenditions(_ isOffered: Bool) {
        for layer in sentLayers.upperBound..<layers.count {
            layers[layer].rendition = RenditionState(
                isOffered: isOffered, isArriving: isOffered && layers[layer].rendition?.isArriving == true)
        }
    }

    /// Sets whether the frames of a layer that the peer does not send arrive.
    package mutating func setArriving(_ isArriving: Bool, rendition layer: Int) {
        layers[layer].rendition?.isArriving = isArriving
    }

    /// The time at which ``pollRenditionRequests(at:)`` must be called; nil if nothing is scheduled.
    package var renditionDeadline: Instant? {
        mutating get {
            var deadline: Instant?
            for layer in sentLayers.upperBound..<layers.count {
                deadline = Instant.earlier(deadline, layers[layer].keyFrame.deadline(roundTrip: .zero))
            }
            return deadline
        }
    }

    /// Returns the layers, as bits, of which a key frame must be requested now from the process that makes them.
    package mutating func pollRenditionRequests(at now: Instant) -> UInt8 {
        var wanted: UInt8 = 0
        for layer in sentLayers.upperBound..<layers.count
        where layers[layer].keyFrame.poll(roundTrip: .zero, at: now) {
            wanted |= 1 << UInt8(layer)
        }
        return wanted
    }
}
