import Logging
import PCastMedia
import PCastRecords
import PCastRelay
import PCastWebRTC

/// What runs: looked at, counted, and its connection made anew.
extension StreamDirectory {
    /// New ICE credentials for a peer (RFC 9725, section 4.3.2).
    func restart(_ peer: PeerID, remote: ICECredentials) async throws(Refusal) -> TrickleFragment {
        do {
            let ours = try await router.restart(peer, remote: remote)
            logger.info("ICE restarted", metadata: ["peer": "\(peer.value)"])
            return ours
        } catch {
            throw Self.refusal(error)
        }
    }

    /// The same by a whole offer.
    ///
    /// - Returns: the answer: the first one, with our new credentials and candidates.
    func restart(_ id: StreamID, offer: SessionDescription) async throws(Refusal) -> SessionDescription {
        guard let peer = peers[id], var answer = participants[peer]?.answer else { throw .ended }
        guard let section = offer.media.first(where: { $0.iceUfrag != nil && $0.icePwd != nil }),
            let remote = ICECredentials(ufrag: section.iceUfrag ?? "", password: section.icePwd ?? "")
        else { throw Refusal(.badRequest, "A restart brings both ice-ufrag and ice-pwd.") }
        guard offer.media.count == answer.media.count else {
            throw Refusal(.badRequest, "A restart changes nothing but ICE: the sections stay.")
        }
        let ours = try await restart(peer, remote: remote)
        answer.origin.sessionVersion += 1
        for index in answer.media.indices where answer.media[index].iceUfrag != nil {
            answer.media[index].iceUfrag = ours.iceUfrag
            answer.media[index].icePwd = ours.icePwd
            answer.media[index].candidates = ours.candidates
        }
        participants[peer]?.answer = answer
        return answer
    }

    /// An offer of ours that has no answer yet.
    func outstandingOffer(to id: StreamID) -> SessionDescription? { peers[id].flatMap { participants[$0]?.offer } }

    /// What a viewer is sent of its stream's layers; nil when it is gone, or has no video.
    func layers(viewedBy peer: PeerID) async -> ViewedLayers? { await router.layers(viewedBy: peer) }

    /// Has a viewer sent that layer and no better one; nil leaves the choice to the relay.
    func pin(_ peer: PeerID, layer: String?) async throws(Refusal) {
        do {
            try await router.pin(peer, layer: layer)
        } catch {
            throw Self.refusal(error)
        }
    }

    /// Streams of one application, oldest first, each with the number of its viewers.
    func list(_ application: ApplicationID) -> [(stream: LiveStream, viewers: Int)] {
        streams.values.filter { $0.application == application }
            .sorted { $0.ordinal < $1.ordinal }
            .map { stream in (stream, viewers(of: stream.id)) }
    }

    /// A stream that is being published.
    func live(_ id: StreamID, of application: ApplicationID) -> (stream: LiveStream, viewers: Int)? {
        guard let stream = streams[id], stream.application == application else { return nil }
        return (stream, viewers(of: id))
    }

    func viewers(of stream: StreamID) -> Int { viewing.count(of: stream) }

    /// How good a stream's data arrives; nil when it is gone.
    func quality(of stream: LiveStream) -> DataQuality? { participants[stream.peer]?.quality }

    /// How many watch and have watched, of each stream.
    var viewerCounts: [StreamID: ViewerCounts] { streams.mapValues(\.counts) }

    /// Publishers and viewers at the moment.
    var counts: (streams: Int, viewers: Int) { (streams.count, viewing.count) }

    /// Whose each stream is.
    var owners: [StreamID: ApplicationID] { streams.mapValues(\.application) }

    /// The same of each application that has a stream.
    var countsOfApplications: [ApplicationID: (streams: Int, viewers: Int)] {
        var counts: [ApplicationID: (streams: Int, viewers: Int)] = [:]
        for stream in streams.values {
            counts[stream.application, default: (0, 0)].streams += 1
            counts[stream.application, default: (0, 0)].viewers += viewing.count(of: stream.id)
        }
        return counts
    }

    /// Whether it has not ended.
    func isPresent(_ participation: Participation) -> Bool { participants[participation.peer] != nil }
}

extension StreamDirectory.Participant {
    /// Whether it is one of those who watch: pictures on the dashboard are not.
    var isViewer: Bool { !isPublisher && !isPreview }
}
