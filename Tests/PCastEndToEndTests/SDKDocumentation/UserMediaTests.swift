import PCast
import PCastCompatibility
import PCastCore
import Testing

extension EndToEnd.SDKDocumentation {
    @Suite("User media")
    struct UserMediaTests {
        /// Options for a video device, and for synthetic audio.
        private static func options(_ device: String) -> UserMediaOptions {
            var options = UserMediaOptions()
            options.video.capabilityConstraints = [
                .deviceID: [DeviceConstraint(.text(device), kind: .exact)], .width: [DeviceConstraint(.number(320))],
                .height: [DeviceConstraint(.number(180))],
            ]
            options.audio.capabilityConstraints[.deviceID] = [DeviceConstraint(.text("synthetic"), kind: .exact)]
            return options
        }

        @Test(
            "Upon acquiring of the user media stream, the userMediaCallback will be called with status=PhenixRequestStatusOk.",
            .timeLimit(.minutes(5)))
        func acquired() async throws {
            let shared = try SharedPlatform.current()
            let pcast = try await shared.client()
            let received = Awaited<(status: RequestStatus, stream: UserMediaStream?)>()
            pcast.getUserMedia(Self.options("synthetic")) { received.add(($1, $2)) }
            let answer = try #require(await received.first())
            #expect(answer.status == .ok && received.values.count == 1)
            let media = try #require(answer.stream)
            // It can be published, and is seen.
            let publisher = try await pcast.publish(
                streamToken: try shared.publishingToken, mediaStream: media.mediaStream)
            let watched = try await shared.watch(publisher.streamID)
            let renderer = watched.stream.createRenderer(.nullDevices)
            #expect(renderer.start() == .ok)
            #expect(await renderer.firstFrame != nil)
            media.stop()
            await watched.close()
            await pcast.shutdown()
        }

        @Test(
            "If the operation fails with status=PhenixRequestStatusFailed then please check the logs for more information",
            .timeLimit(.minutes(5)))
        func failed() async throws {
            let shared = try SharedPlatform.current()
            let pcast = try await shared.client()
            let received = Awaited<(status: RequestStatus, stream: UserMediaStream?)>()
            pcast.getUserMedia(Self.options("file:///no-such-folder/film.mp4")) { received.add(($1, $2)) }
            let answer = try #require(await received.first())
            #expect(answer.status == .failed && answer.stream == nil)
            #expect(pcast.collectLogMessages().contains("no-such-folder/film.mp4"))
            await pcast.shutdown()
        }

        @Test(
            "Sometimes you find it useful to change the camera while a stream is running", .timeLimit(.minutes(5)))
        func changed() async throws {
            let shared = try SharedPlatform.current()
            let pcast = try await shared.client()
            let media = try await pcast.getUserMedia(Self.options("synthetic"))
            let publisher = try await pcast.publish(
                streamToken: try shared.publishingToken, mediaStream: media.mediaStream)
            let watched = try await shared.watch(publisher.streamID)
            let renderer = watched.stream.createRenderer(.nullDevices)
            #expect(renderer.start() == .ok)

            /// Waits until the viewer sees the test frame, or another one.
            func sees(testPattern: Bool) async -> Bool {
                await renderer.statistics.first { _ in
                    renderer.lastVideoFrameRendered.map { (TestPatternStrip.read($0) != nil) == testPattern } ?? false
                } != nil
            }
            #expect(await sees(testPattern: true))
            for (device, isTestPattern) in [("null", false), ("synthetic", true)] {
                _ = try await media.applyOptions(Self.options(device))
                #expect(media.videoSelection?.device.info.id == device)
                #expect(await sees(testPattern: isTestPattern))
            }
            #expect(!publisher.hasEnded && watched.stream.endedInfo == nil)
            media.stop()
            await watched.close()
            await pcast.shutdown()
        }

        @Test("You can get a list of available source devices.", .timeLimit(.minutes(5)))
        func devices() async throws {
            let shared = try SharedPlatform.current()
            let pcast = try await shared.client()
            for mediaType in [MediaType.video, .audio] {
                let received = Awaited<[SourceDeviceInfo]>()
                pcast.enumerateSourceDevices(mediaType) { _, devices in received.add(devices) }
                let devices = try #require(await received.first())
                #expect(devices.allSatisfy { $0.mediaType == mediaType && !$0.id.isEmpty && !$0.name.isEmpty })
                #expect(Set(devices.map(\.id)).count == devices.count)
                // Each can be selected by its identifier.
                let synthetic = try #require(devices.first { $0.deviceType == .synthetic })
                let null = try #require(devices.first { $0.deviceType == .null })
                for device in [synthetic, null] {
                    var options = UserMediaOptions()
                    let constraint = DeviceConstraint(.text(device.id), kind: .exact)
                    options.video.isEnabled = mediaType == .video
                    options.audio.isEnabled = mediaType == .audio
                    options.video.capabilityConstraints[.deviceID] = [constraint]
                    options.audio.capabilityConstraints[.deviceID] = [constraint]
                    let media = try await pcast.getUserMedia(options)
                    #expect(media.mediaStream.tracks.count == 1)
                    media.stop()
                }
            }
            await pcast.shutdown()
        }
    }
}
