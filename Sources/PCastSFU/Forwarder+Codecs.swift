import PCastCore
import PCastRTP
import PCastWebRTC

/// The changes of the codec of a stream whose publishers change. They cost the path of a packet one comparison.
///
/// The packets of a layer have one codec from a key frame on. A viewer whose session description has the codec receives it
/// in the same track, with another payload type. Others receive renditions, or audio only.
extension Forwarder {
    /// Continues with packets of a layer in another codec, of which the next one begins a key frame. Viewers of the layer
    /// wait for it.
    mutating func changeCodec(of index: Int, layer: Int, to codec: Codec, at now: Instant) {
        let stream = streams.address(index)
        stream.pointee.change(layer: layer, to: codec)
        _ = stream.pointee.reviewLayers(clock, at: now)
        followCodec(readersOf: index, layer: layer, to: codec, at: now)
        for viewer in stream.pointee.viewers {
            guard viewers[viewer].node == nil else {
                restartLayer(layer, viewer: viewer)
                continue
            }
            followCodec(viewer: viewer)
            let current = viewers[viewer].layers.current
            // A rendition is made of another source now.
            if current == layer || current.map({ stream.pointee.receiver.isRendition($0) }) == true {
                viewers[viewer].videoLost(at: now)
            }
            selectLayer(viewer: viewer, at: now)
            take(layers: viewers[viewer].layers.neededLayers, viewer: viewer, at: now)
        }
        if stream.pointee.publisherShard == nil { events.append(.videoCodecChanged(stream.pointee.peer, codec)) }
    }

    /// Determines whether a viewer receives the layers of the publisher, or renditions in another codec.
    mutating func followCodec(viewer index: Int) {
        let viewer = viewers.address(index)
        let stream = streams.address(viewer.pointee.stream)
        guard let video = viewer.pointee.sender.video, let own = stream.pointee.layers[0].sourceFormat?.codec else {
            return
        }
        let other = stream.pointee.otherFormat?.codec
        viewer.pointee.needsOtherCodec =
            !video.pointee.receives(own) && other.map { video.pointee.receives($0) } == true
        viewer.pointee.lacksCodec = !video.pointee.receives(own) && !viewer.pointee.needsOtherCodec
    }

    /// Sends a viewer the codec of a layer from now on. Returns false if the viewer does not receive it.
    func selectCodec(of layer: Int, viewer index: Int) -> Bool {
        let viewer = viewers.address(index)
        let stream = streams.address(viewer.pointee.stream)
        guard let video = viewer.pointee.sender.video, let codec = stream.pointee.layers[layer].sourceFormat?.codec
        else { return false }
        return video.pointee.select(codec)
    }
}

extension PublishedStream {
    /// Sets the codec of a layer, whose next packet begins a key frame.
    mutating func change(layer: Int, to codec: Codec) {
        layers[layer].change(to: SourceFormat(receiver.layers[layer].media.format(of: codec)))
        renditions.order = FrameOrder()
        nextReview = nil
    }
}
