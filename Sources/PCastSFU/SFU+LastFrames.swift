package import PCastCore
import PCastRTP
import PCastWebRTC

/// The video of a stream since its newest key frame, for a still image of its last frame.
package struct LastFrames: Sendable {
    /// The codec.
    package var codec: Codec
    /// The frames in decoding order. The first one is the key frame. Empty if the stream does not have the key frame any more.
    package var frames: [EncodedFrame]
    /// The size of the frames; nil if it is unknown.
    package var dimensions: Dimensions?

    /// Creates a value.
    package init(codec: Codec, frames: [EncodedFrame], dimensions: Dimensions?) {
        (self.codec, self.frames, self.dimensions) = (codec, frames, dimensions)
    }
}

extension SFU {
    /// Returns the video of a stream since its newest key frame, of its largest layer that has one. It reads the log once, and
    /// is not for each packet.
    ///
    /// - Parameters:
    ///   - stream: The stream, of which this shard has the publisher.
    ///   - maximumSize: The maximum size of the frames in bytes. If they have more, the key frame is returned alone.
    /// - Returns: The frames; nil if the stream is unknown or has no video.
    package func lastFrames(of stream: StreamID, maximumSize: Int) -> LastFrames? {
        guard let index = streamIndices[stream] else { return nil }
        return forwarder.lastFrames(stream: index, maximumSize: maximumSize)
    }

    /// Requests a key frame of the layer that ``lastFrames(of:maximumSize:)`` reads, if the newest one may soon be overwritten
    /// in the log. Call it every few seconds for a stream whose last frames may be needed.
    package mutating func keepLastFrames(of stream: StreamID) {
        guard let index = streamIndices[stream], let layer = forwarder.largestLayer(stream: index) else { return }
        let track = forwarder.streams.address(index).pointee.layers.address(layer)
        guard track.pointee.log.end > 0 else { return }
        let count = track.pointee.log.newestKeyFrame.map { track.pointee.log.end - $0 } ?? .max
        guard count > track.pointee.log.capacity / 2 else { return }
        forwarder.requestKeyFrame(stream: index, layer: layer)
    }
}

extension Forwarder {
    func lastFrames(stream index: Int, maximumSize: Int) -> LastFrames? {
        guard let layer = largestLayer(stream: index) else { return nil }
        return streams.address(index).pointee.layers[layer].lastFrames(maximumSize: maximumSize)
    }

    /// The time after which a layer is old if other layers have newer frames.
    private static let oldAge = TimeSpan.seconds(2 as Int64)

    /// Returns the largest layer of a publisher, or of those with a key frame; nil without video. A layer that the publisher
    /// does not send any more is left out, because its frames are old.
    func largestLayer(stream index: Int) -> Int? {
        let published = streams.address(index)
        guard published.pointee.layers.exist else { return nil }
        let newest = published.pointee.layers.indices.compactMap { published.pointee.layers[$0].newestArrival }.max()
        var largest: (layer: Int, rank: Int)?
        for layer in published.pointee.layers.indices where !published.pointee.receiver.isRendition(layer) {
            guard published.pointee.layers[layer].exists else { continue }
            if let newest, let arrival = published.pointee.layers[layer].newestArrival, newest - arrival > Self.oldAge {
                continue
            }
            let size = published.pointee.layers[layer].dimensions
            // A layer with a key frame precedes larger ones without it.
            let hasKeyFrame = published.pointee.layers[layer].log.newestKeyFrame != nil
            let rank = (size.map { $0.width * $0.height } ?? 0) + (hasKeyFrame ? 1 << 40 : 0)
            if rank > largest?.rank ?? -1 { largest = (layer, rank) }
        }
        return largest?.layer
    }
}

extension PublishedTrack {
    /// The arrival of the newest packet; nil before the first one.
    fileprivate var newestArrival: Instant? { log.end > 0 ? log[log.end - 1].arrival : nil }

    /// Returns the frames since the newest key frame; nil if the track does not exist.
    fileprivate func lastFrames(maximumSize: Int) -> LastFrames? {
        guard let codec = sourceFormat?.codec else { return nil }
        var found = LastFrames(codec: codec, frames: [], dimensions: dimensions)
        guard let first = log.newestKeyFrame else { return found }
        var buffer = JitterBuffer(codec: codec, maximumPayloadSize: PacketLog.maximumPayloadSize)
        buffer.remember(parameterSets)
        var position = first
        var size = 0
        while position < log.end {
            let entry = log[position]
            // Parameter sets that the SFU repeats have no sequence number.
            if entry.sequence >= 0 {
                _ = buffer.insert(
                    payload: log.payload(at: position), sequenceNumber: UInt16(truncatingIfNeeded: entry.sequence),
                    timestamp: entry.timestamp, marker: entry.marker, at: entry.arrival)
            }
            position += 1
            // After a packet that is missing, no frames follow: the next key frame is not in the log yet.
            while case .frame(let frame)? = buffer.poll(at: entry.arrival) {
                size += frame.bytes.count
                guard size <= maximumSize else {
                    found.frames = found.frames.first.map { [$0] } ?? []
                    return found
                }
                found.frames.append(
                    EncodedFrame(
                        codec: codec, bytes: frame.bytes, isKeyFrame: frame.isKeyFrame,
                        timestamp: MediaTime(ticks: frame.timestamp.ticks, rate: .video), captureTime: nil))
            }
        }
        return found
    }
}
