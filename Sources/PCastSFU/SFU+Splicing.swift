package import PCastCore
import PCastRTP
import PCastWebRTC

/// Streams whose publishers change while their viewers stay.
///
/// Such a stream is published by `publish(_:stream:ingesting:terms:at:)`, and gets the packets of another stream of the
/// same shard, or of its replica there, by `splice(_:into:at:)`. A stream that was pulled from another node with
/// `PeerOptions.keepsViewers` becomes one when another link replaces its own.
extension SFU {
    /// Forwards the packets of a publisher to the viewers of another stream: audio at once, and each layer of video from a
    /// key frame on. Until then, the packets of the former publisher are forwarded.
    ///
    /// A layer of the stream that the publisher does not have receives the packets of the publisher's last layer. Video
    /// may have any codec that the stream was published with (``IngestMedia/furtherVideo``). Viewers who do not receive it
    /// have renditions, or audio only.
    ///
    /// - Parameters:
    ///   - source: The stream of the publisher, which has its publisher or a replica on this shard.
    ///   - stream: The stream that receives the packets, which was published without frames of its own, or pulled. The
    ///     link of a pulled one is closed, and the numbers and timestamps of its packets continue.
    ///   - now: The current time.
    /// - Throws: `SFUError.unknownStream`.
    package mutating func splice(_ source: StreamID, into stream: StreamID, at now: Instant) throws(SFUError) {
        guard let from = streamIndices[source], !forwarder.streams[from].isEnding else { throw .unknownStream(source) }
        guard let target = streamIndices[stream], forwarder.streams[target].publisherShard == nil,
            ingestSources[forwarder.streams[target].peer] != nil || forwarder.streams[target].keepsViewers,
            from != target, !forwarder.streams[target].isEnding
        else { throw .unknownStream(stream) }
        if forwarder.streams[target].keepsViewers { forwarder.detach(publisher: target, at: now) }
        let number = forwarder.splice(of: target) ?? forwarder.splices.insert(newSplice(stream, target))
        forwarder.change(splice: number, to: from, at: now)
    }

    /// Forwards nothing more to a stream, until `splice(_:into:at:)` is called again. Its numbers and timestamps then continue.
    package mutating func unsplice(_ stream: StreamID) {
        guard let target = streamIndices[stream], let number = forwarder.splice(of: target) else { return }
        forwarder.stop(splice: number)
    }

    private mutating func newSplice(_ stream: StreamID, _ target: Int) -> StreamSplice {
        var tracks: [SplicedTrack] = []
        for section in forwarder.streams[target].media.sorted(by: { $0.type == .video && $1.type == .audio }) {
            for rid in section.rids.isEmpty ? [nil] : section.rids.map({ RTPStreamIdentifier($0) }) {
                tracks.append(SplicedTrack(section, rid: rid, ssrc: newSSRC(), using: &generator))
            }
        }
        if forwarder.streams[target].keepsViewers { forwarder.resume(&tracks, after: target) }
        return StreamSplice(stream: stream, peer: forwarder.streams[target].peer, target: target, tracks: tracks)
    }

    /// Lets a publisher send all its tracks, because it may be selected later, and requests key frames. It is called once
    /// for each publisher. Returns the publisher; nil if this shard has neither it nor a replica of its stream.
    @discardableResult
    package mutating func watch(_ stream: StreamID, at now: Instant) -> PeerID? {
        guard let index = streamIndices[stream], !forwarder.streams[index].isEnding else { return nil }
        for layer in forwarder.streams[index].receiver.sentLayers {
            forwarder.addSubscribers(1, of: .video, layer: layer, stream: index, at: now)
            // No stream begins with a key frame from before a pause.
            if forwarder.streams[index].receiver.isPaused(.video, layer: layer) {
                forwarder.streams[index].layers[layer].discardKeyFrame()
            }
            forwarder.requestKeyFrame(stream: index, layer: layer)
        }
        if forwarder.streams[index].audio.exists {
            forwarder.addSubscribers(1, of: .audio, stream: index, at: now)
        }
        return forwarder.streams[index].peer
    }

    /// Ends what `watch(_:at:)` began. It has no effect if the stream has another publisher now.
    package mutating func unwatch(_ stream: StreamID, of publisher: PeerID, at now: Instant) {
        guard let index = streamIndices[stream], forwarder.streams[index].peer == publisher else { return }
        // A replica that was created again does not count the subscriber.
        for layer in forwarder.streams[index].receiver.sentLayers
        where forwarder.streams[index].layers[layer].subscribers > 0 {
            forwarder.addSubscribers(-1, of: .video, layer: layer, stream: index, at: now)
        }
        if forwarder.streams[index].audio.exists, forwarder.streams[index].audio.subscribers > 0 {
            forwarder.addSubscribers(-1, of: .audio, stream: index, at: now)
        }
    }

    /// Returns the media of a stream, for another stream that receives its packets; nil if it has ended.
    package func media(of stream: StreamID) -> IngestMedia? {
        guard let index = streamIndices[stream] else { return nil }
        let published = forwarder.streams.address(index)
        // The publisher may have changed the codec that it has negotiated first.
        let current = published.pointee.layers.exist ? published.pointee.layers[0].sourceFormat?.codec : nil
        var media = IngestMedia(
            video: current ?? published.pointee.receiver.layers.first?.media.codec,
            layers: published.pointee.receiver.sentLayers.count, hasAudio: published.pointee.audio.exists)
        media.answersKeyFrameRequests = true
        media.furtherVideo = IngestMedia.videoCodecs
        return media
    }

    /// The arrivals of a stream's packets.
    package struct StreamArrivals: Hashable, Sendable {
        /// The last arrival; nil before the first packet.
        package var last: Instant?
        /// Whether a viewer could begin: a key frame has arrived, or there is no video. Publishers of WebRTC send key frames
        /// on request only, so the newest one may no longer be in the log. A splice then requests another one.
        package var isDecodable: Bool

        /// Creates a value.
        package init(last: Instant?, isDecodable: Bool) {
            self.last = last
            self.isDecodable = isDecodable
        }
    }

    /// Returns the arrivals of streams. Streams that have ended are left out.
    package func arrivals(of streams: [StreamID]) -> [StreamID: StreamArrivals] {
        var found: [StreamID: StreamArrivals] = [:]
        for stream in streams {
            guard let index = streamIndices[stream] else { continue }
            let published = forwarder.streams.address(index)
            var arrivals = StreamArrivals(last: published.pointee.audio.activity.lastArrival, isDecodable: false)
            guard published.pointee.layers.exist else {
                arrivals.isDecodable = arrivals.last != nil
                found[stream] = arrivals
                continue
            }
            for layer in published.pointee.layers.indices {
                if let last = published.pointee.layers[layer].activity.lastArrival {
                    arrivals.last = max(arrivals.last ?? last, last)
                }
                if published.pointee.layers[layer].log.hasHadKeyFrame { arrivals.isDecodable = true }
            }
            found[stream] = arrivals
        }
        return found
    }
}

/// The forwarding of packets from publishers to spliced streams.
extension Forwarder {
    /// Lets the tracks of a splice continue those that a pulled stream has received from its own link.
    func resume(_ tracks: inout [SplicedTrack], after target: Int) {
        let stream = streams.address(target)
        for track in tracks.indices {
            if tracks[track].type == .audio {
                guard let audio = stream.pointee.receiver.audio, let ssrc = audio.ssrc else { continue }
                tracks[track].resume(after: stream.pointee.audio.log, ssrc: ssrc, codec: audio.codec)
            } else {
                let layer = stream.pointee.receiver.layers[track]
                guard let ssrc = layer.ssrc else { continue }
                tracks[track].resume(after: stream.pointee.layers[track].log, ssrc: ssrc, codec: layer.codec)
            }
        }
    }

    /// Returns the number of the splice of a stream; nil if there is none.
    func splice(of target: Int) -> Int? {
        (0..<splices.endIndex).first { number in
            splices.contains(number) && splices[number].target == target
                && splices[number].peer == streams[target].peer
        }
    }

    /// Begins the change of a splice to a publisher.
    mutating func change(splice number: Int, to index: Int, at now: Instant) {
        splices[number].pending = (streams[index].peer, index, now)
        for layer in streams[index].receiver.sentLayers { requestKeyFrame(stream: index, layer: layer) }
        follow(splice: number, at: now)
    }

    /// Ends the forwarding of all publishers to a stream.
    mutating func stop(splice number: Int) {
        (splices[number].pending, splices[number].current, splices[number].former) = (nil, nil, nil)
        for track in splices[number].tracks.indices { splices[number].tracks[track].stop() }
    }

    /// Forwards the packets that have arrived since the last call. It is called before packets are sent, and costs
    /// nothing without spliced streams.
    mutating func followSplices(at now: Instant) {
        guard splices.count > 0 else { return }
        for number in 0..<splices.endIndex where splices.contains(number) {
            let target = splices[number].target
            guard streams.contains(target), streams[target].peer == splices[number].peer, !streams[target].isEnding
            else {
                _ = splices.remove(number)
                continue
            }
            follow(splice: number, at: now)
        }
    }

    private mutating func follow(splice number: Int, at now: Instant) {
        let splice = splices.address(number)
        if let pending = splice.pointee.pending { begin(splice: number, with: pending, at: now) }
        for track in splice.pointee.tracks.indices {
            guard let index = source(ofTrack: track, splice: number) else {
                noteMissing(track: track, splice: number)
                continue
            }
            copyPackets(of: index, toTrack: track, splice: number, at: now)
            forwardRequest(ofTrack: track, splice: number, to: index, at: now)
        }
    }

    /// Returns the index of the stream that a track reads; nil if it has ended.
    private func source(ofTrack track: Int, splice number: Int) -> Int? {
        let splice = splices.address(number)
        guard let publisher = splice.pointee.tracks[track].publisher?.peer else { return nil }
        for source in [splice.pointee.current, splice.pointee.former] {
            guard let source, source.peer == publisher else { continue }
            return streams.contains(source.index) && streams[source.index].peer == publisher ? source.index : nil
        }
        return nil
    }

    /// Returns the layer of a publisher for a track; nil if the publisher has no such track in an accepted codec.
    private func layer(ofTrack track: Int, splice number: Int, in index: Int) -> Int? {
        let splice = splices.address(number)
        let stream = streams.address(index)
        if splice.pointee.tracks[track].type == .audio {
            return splice.pointee.tracks[track].accepts(stream.pointee.audio.sourceFormat?.codec) ? 0 : nil
        }
        guard stream.pointee.layers.exist else { return nil }
        // Renditions are layers that the publisher does not send.
        let layer = min(track, stream.pointee.receiver.sentLayers.count - 1)
        return splice.pointee.tracks[track].accepts(stream.pointee.layers[layer].sourceFormat?.codec) ? layer : nil
    }

    /// Lets each track begin with the packets of a publisher if it can.
    private mutating func begin(
        splice number: Int, with pending: (peer: PeerID, index: Int, since: Instant), at now: Instant
    ) {
        let splice = splices.address(number)
        guard streams.contains(pending.index), streams[pending.index].peer == pending.peer else {
            return splice.pointee.pending = nil
        }
        let acceptsAnyAge = now - pending.since >= StreamSplice.newerKeyFrameTime
        var isComplete = true
        var hasBegun = splice.pointee.current?.peer == pending.peer
        for track in splice.pointee.tracks.indices
        where splice.pointee.tracks[track].publisher?.peer != pending.peer {
            guard let layer = layer(ofTrack: track, splice: number, in: pending.index) else { continue }
            var position: Int64?
            if splice.pointee.tracks[track].type == .audio {
                // Audio changes together with the first layer of video.
                guard hasBegun || !hasVideo(splice: number, in: pending.index) else {
                    isComplete = false
                    continue
                }
                position = streams[pending.index].audio.log.end
            } else {
                position = keyFrame(of: layer, in: pending.index, acceptsAnyAge: acceptsAnyAge, at: now)
            }
            guard let position else {
                isComplete = false
                continue
            }
            if !hasBegun {
                splice.pointee.former = splice.pointee.current
                splice.pointee.current = (pending.peer, pending.index)
                hasBegun = true
            }
            begin(track: track, splice: number, with: pending.index, layer: layer, at: position)
        }
        guard isComplete else { return }
        splice.pointee.pending = nil
        splice.pointee.former = nil
    }

    /// Whether a publisher has video that a splice forwards.
    private func hasVideo(splice number: Int, in index: Int) -> Bool {
        let splice = splices.address(number)
        return splice.pointee.tracks.indices.contains { track in
            splice.pointee.tracks[track].type == .video && layer(ofTrack: track, splice: number, in: index) != nil
        }
    }

    /// Returns the position of the key frame with which a track begins; nil if there is none yet.
    private func keyFrame(of layer: Int, in index: Int, acceptsAnyAge: Bool, at now: Instant) -> Int64? {
        let log = streams.address(index).pointee.layers.address(layer)
        guard let position = log.pointee.log.newestKeyFrame else { return nil }
        let age = now - log.pointee.log[position].arrival
        return acceptsAnyAge || age <= StreamSplice.replayAge ? position : nil
    }

    private mutating func begin(track: Int, splice number: Int, with index: Int, layer: Int, at position: Int64) {
        let splice = splices.address(number)
        let stream = streams.address(index)
        if splice.pointee.tracks[track].type == .audio {
            splice.pointee.tracks[track].begin(
                stream.pointee.peer, layer: layer, stream.pointee.audio.log, codec: .opus, at: position)
        } else if let codec = stream.pointee.layers[layer].sourceFormat?.codec {
            splice.pointee.tracks[track].begin(
                stream.pointee.peer, layer: layer, stream.pointee.layers[layer].log, codec: codec, at: position)
        }
        splice.pointee.tracks[track].renewReport()
    }

    /// Copies the packets that a track has not forwarded yet, and its sender report if that is due.
    private mutating func copyPackets(of index: Int, toTrack track: Int, splice number: Int, at now: Instant) {
        let splice = splices.address(number)
        let stream = streams.address(index)
        guard let layer = splice.pointee.tracks[track].publisher?.layer else { return }
        let isAudio = splice.pointee.tracks[track].type == .audio
        if !isAudio, let codec = stream.pointee.layers[layer].sourceFormat?.codec,
            !(codec == splice.pointee.tracks[track].codec)
                || splice.pointee.tracks[track].isBehind(stream.pointee.layers[layer].log)
        {
            // The publisher may be a stream whose own publishers change the codec. Its key frame is one of the new codec.
            guard splice.pointee.tracks[track].accepts(codec),
                let position = stream.pointee.layers[layer].log.newestKeyFrame
            else { return }
            begin(track: track, splice: number, with: index, layer: layer, at: position)
        }
        let target = splice.pointee.target
        withTemporaryBytes(SplicedTrack.bufferSize) { buffer in
            while true {
                let size =
                    isAudio
                    ? splice.pointee.tracks[track].next(stream.pointee.audio.log, into: buffer)
                    : splice.pointee.tracks[track].next(stream.pointee.layers[layer].log, into: buffer)
                guard let size else { break }
                receiveMedia(ByteView(buffer.extracting(..<size)), publisher: target, at: now)
            }
            let clock = isAudio ? stream.pointee.audio.captureClock : stream.pointee.layers[layer].captureClock
            // A pulled stream converts times by the clock of its former link, as do its replicas.
            let offset = streams[target].clock.offset ?? .zero
            if let size = splice.pointee.tracks[track].report(clock, offset: offset, into: buffer, at: now) {
                receiveControl(ByteView(buffer.extracting(..<size)), publisher: target, at: now)
            }
        }
        schedule(publisher: target)
    }

    /// Forwards a request for a key frame to the publisher, and whether the publisher answers requests.
    private mutating func forwardRequest(ofTrack track: Int, splice number: Int, to index: Int, at now: Instant) {
        let splice = splices.address(number)
        let target = splice.pointee.target
        guard splice.pointee.tracks[track].type == .video, let layer = splice.pointee.tracks[track].publisher?.layer,
            streams[target].receiver.layers[track].keyFrame.isWanted
        else { return }
        if let nextRequest = splice.pointee.tracks[track].nextRequest, now < nextRequest { return }
        splice.pointee.tracks[track].nextRequest = now + StreamSplice.requestInterval
        let isIgnored = streams[index].receiver.ignoresKeyFrameRequests(layer: layer, at: now)
        setIgnored(isIgnored, track: track, target)
        if !isIgnored { requestKeyFrame(stream: index, layer: layer) }
    }

    /// Lets viewers who join begin with the last key frame while the track has no publisher.
    private mutating func noteMissing(track: Int, splice number: Int) {
        let splice = splices.address(number)
        let target = splice.pointee.target
        guard splice.pointee.tracks[track].type == .video, streams[target].receiver.layers[track].keyFrame.isWanted
        else { return }
        setIgnored(true, track: track, target)
    }

    /// Asks the selected publisher of a spliced stream for the bit rate that the links of the stream's viewers carry. Only a
    /// publisher with a connection of its own on this shard is asked, because others do not change their bit rate.
    mutating func forwardLimit(ofSpliced target: Int, at now: Instant) {
        guard splices.count > 0, let number = splice(of: target), let current = splices[number].current,
            streams.contains(current.index), streams[current.index].peer == current.peer
        else { return }
        let limit = streams[target].quality.sharedLimit.bitrate
        let publisher = streams.address(current.index)
        guard publisher.pointee.transport != nil else { return }
        publisher.pointee.quality.setSplicedLimit(limit, at: now)
    }

    private mutating func setIgnored(_ isIgnored: Bool, track: Int, _ target: Int) {
        var ignored: UInt8 = 0
        for layer in streams[target].receiver.layers.indices
        where layer == track ? isIgnored : streams[target].receiver.layers[layer].keyFrame.ignoresRequests {
            ignored |= 1 << UInt8(layer)
        }
        streams[target].receiver.follow(unansweredLayers: ignored)
    }
}
