import PCastCore
import PCastRTP
import PCastWebRTC
import Testing

@testable import PCastSFU

/// Peers that are admitted by their answer to an offer of the SFU.
@Suite struct OfferingTests {
    @Test("a publisher and a viewer that answer the SFU's offers take part in a stream")
    func bothAnswer() throws {
        let network = VirtualNetwork()
        let publishing = try network.answerAsPublisher()
        #expect(publishing.offer.isICELite)
        #expect(publishing.offer.media.allSatisfy { $0.setup == .actpass && $0.direction == .receiveOnly })
        #expect(publishing.offer.media.allSatisfy { !$0.candidates.isEmpty })
        let session = try network.sfu.accept(publishing.answer, from: publishing.id, at: network.now)
        #expect(session.media.map(\.codec) == [.opus, .vp8])
        #expect(network.run { publishing.peer.isConnected })

        let viewing = try network.answerAsViewer()
        #expect(viewing.offer.media.allSatisfy { $0.direction == .sendOnly && !$0.sources.isEmpty })
        #expect(viewing.offer.media.map { $0.payloadFormats.map(\.codec) } == [[.opus], [.vp8]])
        // Chromium rejects an audio section with an FID group.
        #expect(viewing.offer.media.map(\.sourceGroups.count) == [0, 1])
        #expect(!viewing.offer.media[0].rtpMaps.contains { $0.encoding == "rtx" })
        _ = try network.sfu.accept(viewing.answer, from: viewing.id, at: network.now)
        #expect(network.run { viewing.peer.isConnected })

        var video = ScriptedVideo()
        for number in 0..<10 { video.send(isKeyFrame: number == 0, from: publishing.peer, by: network) }
        #expect(network.events.contains(.mediaStarted(publishing.id)))
        let ssrc = viewing.offer.media[1].sources.first?.ssrc
        #expect(viewing.peer.packets(ssrc).count == 10)
    }

    @Test("a peer that does not answer is removed at its setup deadline")
    func unanswered() throws {
        let network = VirtualNetwork()
        let first = try network.answerAsPublisher(terms: PeerOptions(setupLimit: .seconds(5 as Int64)))
        let second = try network.answerAsPublisher(stream: StreamID("other"))
        network.run(for: .milliseconds(4_900))
        #expect(network.endedReason(of: first.id) == nil)
        network.run(for: .milliseconds(200))
        #expect(network.endedReason(of: first.id) == .failed)
        #expect(throws: SFUError.unknownPeer) {
            try network.sfu.accept(first.answer, from: first.id, at: network.now)
        }
        network.run(for: .seconds(24 as Int64))
        #expect(network.endedReason(of: second.id) == nil)
        network.run(for: .seconds(1 as Int64))
        #expect(network.endedReason(of: second.id) == .failed)
        let left = network.sfu.offers.count
        #expect(left == 0)
    }

    @Test("unusable answers are rejected with the reason, and the offer remains valid")
    func badAnswers() throws {
        let network = VirtualNetwork()
        let publishing = try network.answerAsPublisher()
        func refusal(_ change: (inout SessionDescription) -> Void) -> SFUError? {
            var answer = publishing.answer
            change(&answer)
            do throws(SFUError) {
                _ = try network.sfu.accept(answer, from: publishing.id, at: network.now)
                return nil
            } catch {
                return error
            }
        }
        #expect(refusal { $0.media = [] } == .description(.answerDoesNotMatchOffer))
        #expect(refusal { $0.media.append($0.media[0]) } == .description(.answerDoesNotMatchOffer))
        #expect(refusal { $0.media.reverse() } == .description(.answerDoesNotMatchOffer))
        #expect(refusal { $0.media[1].mid = "other" } == .description(.answerDoesNotMatchOffer))
        #expect(refusal { for index in 0..<2 { $0.media[index].setup = .actpass } } == .description(.unusableSetup))
        #expect(refusal { for index in 0..<2 { $0.media[index].setup = .holdconn } } == .description(.unusableSetup))
        #expect(
            refusal { for index in 0..<2 { $0.media[index].iceUfrag = nil } } == .description(.missingICECredentials))
        #expect(
            refusal { for index in 0..<2 { $0.media[index].fingerprints = [] } } == .description(.missingFingerprint))
        #expect(refusal { $0.isICELite = true } == .description(.unusableSetup))
        #expect(refusal { for index in 0..<2 { $0.media[index].port = 0 } } == .noCommonCodec)
        #expect(refusal { for index in 0..<2 { $0.media[index].direction = .receiveOnly } } == .wrongDirection)
        #expect(refusal { for index in 0..<2 { $0.media[index].direction = .inactive } } == .wrongDirection)
        #expect(refusal { for index in 0..<2 { $0.media[index].rtpMaps = [] } }?.problemCodes == ["codec", "codec"])
        // One of two tracks is not enough.
        #expect(refusal { $0.media[1].rtpMaps = [] }?.problemCodes == ["codec"])
        #expect(refusal { $0.bundle = nil }?.problemCodes == ["no-bundle", "no-bundle"])
        #expect(refusal { $0.bundle = ["audio"] }?.problemCodes == ["not-bundled"])
        #expect(refusal { $0.media[0].multiplexesRTCP = false }?.problemCodes == ["no-rtcp-mux"])
        let short = FingerprintAttribute(algorithm: "sha-256", bytes: [1, 2, 3])
        #expect(
            refusal { for index in 0..<2 { $0.media[index].fingerprints = [short] } }?.problemCodes == ["fingerprint"])
        let standing = network.sfu.offers.count
        #expect(standing == 1)
        #expect(refusal { _ in } == nil)
        #expect(refusal { _ in } == .noOffer)
        #expect(network.run { publishing.peer.isConnected })
    }

    @Test("the end of a stream withdraws its offers, and a peer that leaves before its answer has no state")
    func withdrawn() throws {
        let network = VirtualNetwork()
        let publisher = try network.scriptPublisher()
        #expect(network.run { publisher.isConnected })
        let gone = try network.answerAsViewer()
        network.sfu.end(gone.id, reason: .ended, at: network.now)
        let viewing = try network.answerAsViewer()
        network.sfu.end(publisher.id, reason: .censored, at: network.now)
        network.run(for: .milliseconds(50))
        #expect(network.endedReason(of: gone.id) == .ended)
        #expect(network.endedReason(of: viewing.id) == .censored)
        #expect(throws: SFUError.unknownPeer) {
            try network.sfu.accept(viewing.answer, from: viewing.id, at: network.now)
        }
    }

    @Test("an unanswered offer counts as a peer") func peerIndices() throws {
        let network = VirtualNetwork()
        var count = 0
        while network.sfu.hasSpace {
            _ = try network.sfu.offerToPublisher(
                PeerID(UInt64(1 + count)), of: StreamID("stream\(count)"), at: network.now)
            count += 1
        }
        let most = network.sfu.configuration.maximumPeers
        #expect(count == most)
        #expect(throws: SFUError.full) {
            try network.sfu.offerToPublisher(PeerID(0), of: StreamID("more"), at: network.now)
        }
    }

    // MARK: Options

    @Test("only the media and codecs of the options are offered and accepted") func media() throws {
        let network = VirtualNetwork()
        let audio = try network.answerAsPublisher(terms: PeerOptions(media: [.audio]))
        #expect(audio.offer.media.map(\.kind) == [.audio])
        let vp8 = PeerOptions(preferring: [.vp8], insistsOnCodecs: true)
        let insisting = try network.answerAsPublisher(terms: vp8, stream: StreamID("b"))
        #expect(insisting.offer.media[1].payloadFormats.map(\.codec) == [.vp8])
        let preferring = try network.answerAsPublisher(terms: PeerOptions(preferring: [.vp8]), stream: StreamID("c"))
        #expect(preferring.offer.media[1].payloadFormats.map(\.codec) == [.vp8, .h264])
        let named = try network.answerAsPublisher(terms: PeerOptions(preferring: [.av1]), stream: StreamID("d"))
        #expect(named.offer.media[1].payloadFormats.map(\.codec) == [.av1, .h264, .vp8])

        let publisher = try network.scriptPublisher(.h264, audio: true)
        #expect(network.run { publisher.isConnected })
        #expect(throws: SFUError.noCommonCodec) { try network.answerAsViewer(terms: vp8) }
        #expect(throws: SFUError.noCommonCodec) { try network.scriptViewer(terms: vp8) }
        #expect(try network.answerAsViewer(terms: PeerOptions(media: [.video])).offer.media.map(\.kind) == [.video])
        let deaf = try network.scriptViewer(terms: PeerOptions(media: [.video]))
        #expect(deaf.session.media.filter { $0.direction != .inactive }.map(\.type) == [.video])
    }

    @Test("a peer that is not connected within its setup limit fails") func setupLimit() throws {
        let network = VirtualNetwork()
        let terms = PeerOptions(setupLimit: .seconds(5 as Int64))
        let prompt = try network.answerAsPublisher(terms: terms)
        _ = try network.sfu.accept(prompt.answer, from: prompt.id, at: network.now)
        network.link.loss = 100
        let late = try network.answerAsPublisher(terms: terms, stream: StreamID("late"))
        network.run(for: .seconds(2 as Int64))
        _ = try network.sfu.accept(late.answer, from: late.id, at: network.now)
        network.run(for: .milliseconds(3_100))
        #expect(network.endedReason(of: late.id) == .failed)
        #expect(network.endedReason(of: prompt.id) == nil && prompt.peer.isConnected)
    }

    @Test("a publisher that sends no data within its limit fails") func abandoned()
        throws
    {
        let network = VirtualNetwork()
        let terms = PeerOptions(abandonLimit: .seconds(15 as Int64))
        let silent = try network.answerAsPublisher(terms: terms)
        _ = try network.sfu.accept(silent.answer, from: silent.id, at: network.now)
        let talking = try network.answerAsPublisher(terms: terms, stream: StreamID("talking"))
        _ = try network.sfu.accept(talking.answer, from: talking.id, at: network.now)
        let deferred = try network.answerAsPublisher(stream: StreamID("deferred"))
        _ = try network.sfu.accept(deferred.answer, from: deferred.id, at: network.now)
        for second in 0..<20 {
            talking.peer.say(.audio, sequence: UInt16(second), timestamp: UInt32(second) * 48_000, payload: [1, 2, 3])
            network.deliverAll(talking.peer)
            network.run(for: .seconds(1 as Int64))
            if second == 13 { #expect(network.endedReason(of: silent.id) == nil) }
        }
        #expect(network.endedReason(of: silent.id) == .failed)
        #expect(network.endedReason(of: talking.id) == nil)
        network.run(for: .seconds(16 as Int64))
        #expect(network.endedReason(of: talking.id) == .failed)
        #expect(network.endedReason(of: deferred.id) == nil)
    }

    @Test("a publisher that is paused without viewers does not fail, but a viewer without data does")
    func pausedPublisherDoesNotFail() throws {
        let network = VirtualNetwork()
        let terms = PeerOptions(abandonLimit: .seconds(5 as Int64))
        let publisher = try network.publish(.vp8, terms: terms)
        #expect(network.run { publisher.isConnected })
        var broadcast = Broadcast(.vp8)
        broadcast.send(250, from: publisher, by: network)
        #expect(publisher.isPaused(.video) && publisher.isPaused(.audio))
        network.run(for: .seconds(20 as Int64))
        #expect(network.endedReason(of: publisher.id) == nil)

        // There is a viewer, but no data arrives.
        let viewer = try network.view(terms: PeerOptions(abandonLimit: .seconds(3 as Int64)))
        #expect(network.run { viewer.isConnected })
        network.run(for: .seconds(4 as Int64))
        #expect(network.endedReason(of: viewer.id) == .failed)
        let other = try network.view()
        network.run(for: .seconds(6 as Int64))
        #expect(network.endedReason(of: publisher.id) == .failed)
        #expect(network.endedReason(of: other.id) == .failed)
    }
}
