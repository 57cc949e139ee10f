import PCast
import PCastCompatibility
import PCastCore
import PCastEdgeAuth
import Testing

extension EndToEnd.SDKDocumentation {
    @Suite("Publishing")
    struct PublishingTests {
        @Test(
            "streamToken: The publish token is generated using the Phenix EdgeAuth library",
            .enabled(if: ThisMachine.hasEdgeAuth), .timeLimit(.minutes(5)))
        func edgeAuth() async throws {
            let shared = try SharedPlatform.current()
            let published = try await shared.publish(token: try await shared.publicToken("publishing"))
            #expect(!published.publisher.hasEnded)
            await published.close()
        }

        @Test(
            "mediaStream: The user media stream acquired … locally with PhenixUserMediaStream.mediaStream",
            .timeLimit(.minutes(5)))
        func userMedia() async throws {
            let shared = try SharedPlatform.current()
            let published = try await shared.publish(hasSlice: true)
            #expect(published.media.mediaStream.videoTracks.count == 1)
            let watched = try await shared.watch(published.publisher.streamID)
            let renderer = watched.stream.createRenderer(.nullDevices)
            #expect(renderer.start() == .ok)
            #expect(await renderer.firstFrame != nil)
            await watched.close()
            await published.close()
        }

        @Test("publishCallback: Called upon completion of the operation", .timeLimit(.minutes(5)))
        func callback() async throws {
            let shared = try SharedPlatform.current()
            let pcast = try await shared.client()
            let media = try await pcast.getUserMedia(UserMediaOptions(video: nil, audio: .synthetic))
            let received = Awaited<(status: RequestStatus, publisher: Publisher?)>()
            pcast.publish(streamToken: try shared.publishingToken, mediaStream: media.mediaStream) {
                _, status, publisher in
                received.add((status, publisher))
            }
            let good = await received.first()
            #expect(good?.status == .ok && good?.publisher != nil)
            let refused = Awaited<(status: RequestStatus, publisher: Publisher?)>()
            pcast.publish(
                streamToken: try shared.token { $0.forStreamingOnly() }, mediaStream: media.mediaStream
            ) { _, status, publisher in refused.add((status, publisher)) }
            let bad = await refused.first()
            #expect(bad?.status == .unauthorized && bad?.publisher == nil)
            media.stop()
            await pcast.shutdown()
            #expect(received.values.count == 1 && refused.values.count == 1)
        }

        @Test(
            "tags: Tags that will be provided with the stream notifications to your backend callback endpoint",
            .enabled(if: ThisMachine.hasPython), .timeLimit(.minutes(5)))
        func tags() async throws {
            let shared = try SharedPlatform.current()
            let published = try await shared.publish(tags: ["my-tag", "my-other-tag"])
            await published.close()
            for what in ["starting", "started", "ended"] {
                let received = try await shared.notification(what, of: published.publisher.streamID)
                #expect(received["data"]["tags"].list.compactMap(\.text) == ["my-tag", "my-other-tag"], "\(what)")
                #expect(received["signed"] == .bool(true))
            }
        }

        @Test("The “streamId” of the publisher", .timeLimit(.minutes(5)))
        func streamID() async throws {
            let shared = try SharedPlatform.current()
            let published = try await shared.publish()
            let watched = try await shared.watch(published.publisher.streamID)
            #expect(!published.publisher.streamID.description.isEmpty)
            await watched.close()
            await published.close()
        }

        @Test("Checks if the publisher has ended", .timeLimit(.minutes(5)))
        func hasEnded() async throws {
            let shared = try SharedPlatform.current()
            let published = try await shared.publish()
            #expect(!published.publisher.hasEnded)
            published.publisher.stop()
            #expect(published.publisher.hasEnded)
            await published.close()
        }

        @Test("Attach publisher ended callback: Called when the stream has ended", .timeLimit(.minutes(5)))
        func endedCallback() async throws {
            let shared = try SharedPlatform.current()
            let published = try await shared.publish()
            let received = Awaited<String>()
            published.publisher.setPublisherEndedCallback { received.add("\($1) \($2)") }
            #expect(received.values.isEmpty)
            published.publisher.stop()
            #expect(await received.first() == "ended ended")
            // Late listeners are notified as well.
            let late = Awaited<StreamEndedReason>()
            published.publisher.setPublisherEndedCallback { _, reason, _ in late.add(reason) }
            #expect(await late.first() == .ended)
            await published.close()
            #expect(received.values.count == 1)
        }

        @Test("To stop later: [publisher stop:@“I-am-done-publishing”]", .timeLimit(.minutes(5)))
        func stop() async throws {
            let reason = EndReason(cause: .stop("I-am-done-publishing"), reason: .custom, wire: "I-am-done-publishing")
            try await reason.check(on: try SharedPlatform.current())
        }

        @Test("PhenixStreamEndedReasonEnded: The stream ended normally", .timeLimit(.minutes(5)))
        func ended() async throws { try await check(.stop(nil), .ended, "ended") }

        @Test("PhenixStreamEndedReasonFailed: The stream failed", .timeLimit(.minutes(5)))
        func failed() async throws { try await check(.backend("server-error"), .failed, "failed") }

        @Test("PhenixStreamEndedReasonCensored: The stream was censored", .timeLimit(.minutes(5)))
        func censored() async throws { try await check(.backend("censored"), .censored, "censored") }

        @Test(
            "PhenixStreamEndedReasonMaintenance: A maintenance event caused this stream to be terminated",
            .timeLimit(.minutes(5)))
        func maintenance() async throws { try await check(.backend("maintenance"), .maintenance, "maintenance") }

        @Test(
            "PhenixStreamEndedReasonCapacity: The stream was terminated due to capacity limitations",
            .timeLimit(.minutes(5)))
        func capacity() async throws { try await check(.backend("capacity"), .capacity, "capacity") }

        @Test(
            "PhenixStreamEndedReasonAppBackground: The stream was terminated due to the mobile app entering into the background",
            .timeLimit(.minutes(5)))
        func background() async throws { try await check(.background, .appBackground, "app-background") }

        @Test(
            "PhenixStreamEndedReasonCustom: A custom termination reason is provided in the “reasonDescription” field",
            .timeLimit(.minutes(5)))
        func custom() async throws { try await check(.backend("out of time"), .custom, "out of time") }

        private func check(_ cause: EndReason.Cause, _ reason: StreamEndedReason, _ wire: String) async throws {
            try await EndReason(cause: cause, reason: reason, wire: wire).check(on: try SharedPlatform.current())
        }
    }
}
