import PCast
import PCastCompatibility
import PCastCore
import Testing

extension EndToEnd.SDKDocumentation {
    @Suite("Renderers")
    struct RendererTests {
        /// A live stream with a renderer, and a square surface in memory.
        private struct Scene {
            let published: SharedPlatform.Published
            let watched: SharedPlatform.Watched
            let renderer: Renderer
            let surface = MemorySurface(dimensions: Dimensions(width: 320, height: 320))

            init(_ options: RendererOptions) async throws {
                let shared = try SharedPlatform.current()
                published = try await shared.publish(hasSlice: true)
                watched = try await shared.watch(published.publisher.streamID)
                renderer = watched.stream.createRenderer(options)
                try renderer.start(on: surface)
                #expect(await renderer.firstFrame != nil)
            }

            /// Waits until the surface shows a frame, and returns the number of rows that are black.
            func blackRows() async throws -> Int {
                _ = await renderer.statistics.first { _ in surface.frame != nil }
                let image = try #require(surface.image())
                return (0..<image.dimensions.height).count { row in
                    image.bytes[row * image.stride..<(row + 1) * image.stride].allSatisfy { $0 == 0 }
                }
            }

            func close() async {
                renderer.stop()
                await watched.close()
                await published.close()
            }
        }

        @Test("options.aspectRatioMode = PhenixAspectRatioModeFill", .timeLimit(.minutes(5)))
        func fill() async throws {
            let scene = try await Scene(RendererOptions(useNullAudioDevice: true, aspectRatioMode: .fill))
            #expect(try await scene.blackRows() == 0)
            await scene.close()
        }

        @Test("options.aspectRatioMode = PhenixAspectRatioModeLetterbox", .timeLimit(.minutes(5)))
        func letterbox() async throws {
            let scene = try await Scene(RendererOptions(useNullAudioDevice: true, aspectRatioMode: .letterbox))
            // 320x180 on 320x320.
            #expect(try await scene.blackRows() == 140)
            await scene.close()
        }

        @Test(
            "options.useNullVideoDevice: nothing is shown, and the video is decoded and measured",
            .timeLimit(.minutes(5)),
            arguments: [true, false])
        func nullVideoDevice(_ isNull: Bool) async throws {
            let scene = try await Scene(RendererOptions(useNullAudioDevice: true, useNullVideoDevice: isNull))
            let statistics = await scene.renderer.statistics.first { $0.framesRendered >= 30 }
            #expect(statistics != nil)
            #expect((scene.surface.frame == nil) == isNull)
            await scene.close()
        }

        @Test("options.useNullAudioDevice = true: no audio device is opened", .timeLimit(.minutes(5)))
        func nullAudioDevice() async throws {
            let scene = try await Scene(.nullDevices)
            let statistics = await scene.renderer.statistics.first { $0.framesRendered >= 30 }
            #expect(statistics != nil && !scene.renderer.isAudioPlayed)
            await scene.close()
        }

        @Test(
            "If you like to show a preview, you can take a still image from a renderer.", .timeLimit(.minutes(5)))
        func stillImage() async throws {
            let scene = try await Scene(.nullDevices)
            let received = Awaited<TestPatternStamp?>()
            scene.renderer.setLastVideoFrameRenderedReceivedCallback { _, nativeVideoFrame in
                received.add(nativeVideoFrame.flatMap(TestPatternStrip.read))
            }
            scene.renderer.requestLastVideoFrameRendered()
            let first = try #require(await received.first() ?? nil)
            // A later request gets a later frame.
            let rendered = await scene.renderer.summary().framesRendered
            _ = await scene.renderer.statistics.first { $0.framesRendered > rendered + 10 }
            scene.renderer.requestLastVideoFrameRendered()
            let second = try #require(await received.first(after: 1) ?? nil)
            #expect(second.counter &- first.counter > 5)
            await scene.close()
        }
    }
}
