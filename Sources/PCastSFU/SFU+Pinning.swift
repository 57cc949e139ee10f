public import PCastCore
import PCastWebRTC

/// What viewers and others may say and ask of layers.
extension SFU {
    /// What a viewer is sent of its stream's layers; nil when it is gone, or has no video.
    public func layers(viewedBy peer: PeerID) -> ViewedLayers? {
        guard case .viewer(let index) = places[peer], viewers[index].sender.video != nil else { return nil }
        let stream = streams.address(viewers[index].stream)
        guard stream.pointee.layers.exist else { return nil }
        let viewer = viewers.address(index)
        return ViewedLayers(
            layers: stream.pointee.ladder.rungs.reversed().map { rung in
                ViewedLayers.Layer(
                    name: stream.pointee.name(of: rung.layer), bitrate: stream.pointee.layers[rung.layer].bitrate,
                    dimensions: rung.dimensions, isAvailable: rung.isAvailable)
            },
            current: viewer.pointee.layers.current.map { stream.pointee.name(of: $0) },
            pinned: viewer.pointee.selection.pin.map { stream.pointee.name(of: $0) },
            choice: viewer.pointee.selection.choice, cause: viewer.pointee.selection.cause)
    }

    /// Has a viewer sent that layer and no better one; a lower one where its link does not carry it.
    ///
    /// - Parameter layer: by its name; nil leaves the choice to the relay again.
    public mutating func pin(_ peer: PeerID, layer: String?, at now: Instant) throws(SFUError) {
        guard case .viewer(let index) = places[peer] else { throw .unknownPeer }
        let stream = streams.address(viewers[index].stream)
        var pin: Int?
        if let layer {
            pin = stream.pointee.layers.indices.first { stream.pointee.name(of: $0) == layer }
            guard pin != nil else { throw .unknownLayer(layer) }
        }
        viewers[index].selection.pin = pin
        selectLayer(viewer: index, at: now)
    }

    /// Has a publisher send no more than that, whatever its viewers could take; one that does not heed it is ended, with
    /// `capacity`.
    ///
    /// - Parameter bitrate: on the wire; nil for as much as it likes.
    public mutating func limit(_ peer: PeerID, to bitrate: Bitrate?) {
        guard case .publisher(let index) = places[peer] else { return }
        streams[index].quality.ceiling.change(to: bitrate)
    }
}
