public import PCastCore
import PCastWebRTC

/// Queries and limits of layers.
extension SFU {
    /// Returns the layers of a viewer's stream and the one that it receives; nil if the viewer has left or has no
    /// video.
    public func layers(viewedBy peer: PeerID) -> ViewedLayers? {
        guard case .viewer(let index) = peerIndices[peer], viewers[index].sender.video != nil else { return nil }
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

    /// Limits a viewer to a layer. It receives a lower layer if its link does not carry this one.
    ///
    /// - Parameters:
    ///   - peer: The viewer.
    ///   - layer: The name of the layer; nil removes the limit.
    ///   - now: The current time.
    /// - Throws: `SFUError.unknownPeer` or `SFUError.unknownLayer`.
    public mutating func pin(_ peer: PeerID, layer: String?, at now: Instant) throws(SFUError) {
        guard case .viewer(let index) = peerIndices[peer] else { throw .unknownPeer }
        let stream = streams.address(viewers[index].stream)
        var pin: Int?
        if let layer {
            pin = stream.pointee.layers.indices.first { stream.pointee.name(of: $0) == layer }
            guard pin != nil else { throw .unknownLayer(layer) }
        }
        viewers[index].selection.pin = pin
        selectLayer(viewer: index, at: now)
    }

    /// Limits the bit rate of a publisher, regardless of what its viewers could receive. A publisher that ignores the
    /// limit is ended with `capacity`. The bit rate is that on the wire; nil removes the limit.
    public mutating func limit(_ peer: PeerID, to bitrate: Bitrate?) {
        guard case .publisher(let index) = peerIndices[peer] else { return }
        streams[index].quality.ceiling.change(to: bitrate)
    }
}
