import PCastCompatibility
import Testing

/// Calls of Phenix's Express SDKs, in Swift by the names that Apple's importer gives to them.
enum PhenixExpressSamples {
    static func options(
        _ uri: String, _ token: String, _ failed: @escaping @Sendable (PhenixRequestStatus) -> Void
    ) -> PhenixPCastExpressOptions? {
        PhenixPCastExpressFactory.createPCastExpressOptionsBuilder()
            .withPCastUri(uri)
            .withAuthenticationToken(token)
            .withUnrecoverableErrorCallback { status, description in failed(status) }
            .buildPCastExpressOptions()
    }

    static func join(
        _ channelExpress: PhenixChannelExpress, _ token: String,
        _ joined: @escaping @Sendable (PhenixRequestStatus, PhenixRoomService?) -> Void,
        _ watching: @escaping @Sendable (PhenixRequestStatus, PhenixRenderer?) -> Void
    ) {
        let room = PhenixRoomExpressFactory.createJoinRoomOptionsBuilder()
            .withRoomAlias("demo")
            .withScreenName("Ann")
            .buildJoinRoomOptions()
        let options = PhenixChannelExpressFactory.createJoinChannelOptionsBuilder()
            .withJoinRoomOptions(room)
            .withStreamToken(token)
            .withStreamSelectionStrategy(.highAvailability)
            .withRendererOptions(PhenixRendererOptions())
            .buildJoinChannelOptions()
        channelExpress.joinChannel(
            options, { status, roomService in joined(status, roomService) },
            { status, subscriber, renderer in watching(status, renderer) })
    }

    static func publish(
        _ channelExpress: PhenixChannelExpress, _ userMedia: PhenixUserMediaStream, _ token: String,
        _ published: @escaping @Sendable (PhenixRequestStatus, PhenixExpressPublisher?) -> Void
    ) {
        let media = PhenixPCastExpressFactory.createPublishOptionsBuilder()
            .withStreamToken(token)
            .withUserMedia(userMedia)
            .buildPublishOptions()
        let channel = PhenixRoomExpressFactory.createRoomOptionsBuilder().withAlias("demo").buildRoomOptions()
        let options = PhenixChannelExpressFactory.createPublishToChannelOptionsBuilder()
            .withChannelOptions(channel)
            .withPublishOptions(media)
            .withScreenName("primary")
            .buildPublishToChannelOptions()
        channelExpress.publish(toChannel: options) { status, roomService, publisher in
            publisher?.disableAudio()
            published(status, publisher)
        }
    }

    static func talk(_ roomService: PhenixRoomService, _ sent: @escaping @Sendable (PhenixRequestStatus) -> Void) {
        roomService.chatService.sendMessageToRoom("Hello") { status in sent(status) }
        roomService.chatService.getMessages(30, nil) { status, messages in sent(status) }
        roomService.leaveRoom { roomService, status in sent(status) }
    }
}

@Suite("Phenix's Express names") struct PhenixExpressTests {
    /// Options that are invalid, so that no client starts.
    private static func invalidOptions(
        _ failed: @escaping @Sendable (PhenixRequestStatus) -> Void = { _ in }
    ) -> PhenixPCastExpressOptions? {
        let initialization = PhenixPCastInitializeOptions()
        initialization.streamingSourceMapping = PhenixStreamingSourceMapping()
        initialization.streamingSourceMapping?.patternToReplace = "("
        return PhenixPCastExpressFactory.createPCastExpressOptionsBuilder()
            .withPCastInitializationOptions(initialization)
            .withUnrecoverableErrorCallback { status, _ in failed(status) }
            .buildPCastExpressOptions()
    }

    @Test("a client that cannot start reports it once, and each request has the reason")
    func unrecoverable() async {
        let (failures, reporter) = AsyncStream.makeStream(of: PhenixRequestStatus.self)
        let express = PhenixPCastExpressFactory.createPCastExpress(
            Self.invalidOptions { status in
                reporter.yield(status)
                reporter.finish()
            })
        var reported: [PhenixRequestStatus] = []
        for await status in failures { reported.append(status) }
        #expect(reported == [.badRequest])
        let online = await withCheckedContinuation { continuation in
            express?.waitForOnline { continuation.resume(returning: $0) }
        }
        #expect(online == .badRequest)
        let subscribed = await withCheckedContinuation { continuation in
            express?.subscribe(nil) { status, subscriber, renderer in
                continuation.resume(returning: (status, subscriber == nil && renderer == nil))
            }
        }
        #expect(subscribed.0 == .badRequest)
        #expect(subscribed.1)
    }

    @Test("channels and rooms report the reason of a failed start") func rooms() async {
        let channelExpress = PhenixChannelExpressFactory.createChannelExpress(Self.invalidOptions())
        let joined = await withCheckedContinuation { continuation in
            if let channelExpress {
                PhenixExpressSamples.join(
                    channelExpress, "", { status, service in continuation.resume(returning: (status, service == nil)) },
                    { status, _ in Issue.record("a stream has the status \(status)") })
            }
        }
        #expect(joined.0 == .badRequest)
        #expect(joined.1)
        let created = await withCheckedContinuation { continuation in
            channelExpress?.createChannel(nil) { status, _ in continuation.resume(returning: status) }
        }
        #expect(created == .badRequest)
        let published = await withCheckedContinuation { continuation in
            channelExpress?.roomExpress.publishToRoom(nil) { status, service, publisher in
                continuation.resume(returning: (status, service == nil && publisher == nil))
            }
        }
        #expect(published.0 == .badRequest)
        #expect(published.1)
    }
}
