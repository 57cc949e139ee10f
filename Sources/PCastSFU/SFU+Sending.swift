public import PCastCore
import PCastRTP
import PCastWebRTC

extension SFU {
    /// Writes datagrams into the batch. Returns true if the batch is full and there may be more.
    public mutating func poll(into batch: inout DatagramBatch, at now: Instant) -> Bool {
        // Sending media may make reports and requests due, which are sent at once.
        while forwarder.isBusy {
            switch forwarder.pollControl(into: &batch, at: now) {
            case .full: return true
            case .ended(let peerIndex): remove(peerIndex)
            case .done:
                if forwarder.forward(into: &batch, at: now) || forwarder.resume(into: &batch, at: now) { return true }
            }
        }
        return false
    }
}

/// Queries and limits of layers.
extension SFU {
    /// Returns the layers of a viewer's stream and the one that it receives; nil if the viewer has left or has no
    /// video.
    public func layers(viewedBy peer: PeerID) -> ViewedLayers? {
        guard case .viewer(let index) = peers[peer], forwarder.viewers[index].sender.video != nil else { return nil }
        let stream = forwarder.streams.address(forwarder.viewers[index].stream)
        guard stream.pointee.layers.exist else { return nil }
        let viewer = forwarder.viewers.address(index)
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
        guard case .viewer(let index) = peers[peer] else { throw .unknownPeer }
        let stream = forwarder.streams.address(forwarder.viewers[index].stream)
        var pin: Int?
        if let layer {
            pin = stream.pointee.layers.indices.first { stream.pointee.name(of: $0) == layer }
            guard pin != nil else { throw .unknownLayer(layer) }
        }
        forwarder.viewers[index].selection.pin = pin
        forwarder.selectLayer(viewer: index, at: now)
    }

    /// Limits the bit rate of a publisher, regardless of what its viewers could receive. A publisher that ignores the
    /// limit is ended with `capacity`. The bit rate is that on the wire; nil removes the limit.
    public mutating func limit(_ peer: PeerID, to bitrate: Bitrate?) {
        guard case .publisher(let index) = peers[peer] else { return }
        forwarder.streams[index].quality.ceiling.change(to: bitrate)
    }
}
