import Foundation
import PCast
import PCastCompatibility
import PCastCore
import Testing

extension EndToEnd.SDKDocumentation {
    /// Data quality that real programs receive over networks that become bad.
    @Suite("Data quality", .qualityScenes)
    struct DataQualityTests {
        // MARK: Publishers

        @Test(
            "Publisher, NoData, None: The publisher has a bad internet connection and no data is being streamed.",
            .timeLimit(.minutes(5)))
        func publisherNoData() async throws {
            let scene = try QualityScenes.current().cut
            try await scene.isNotified(scene.publisher, "no-data", "none")
        }

        @Test(
            "Publisher, NoData, UploadLimited: The publisher has a bad internet connection and no data is being streamed.",
            .timeLimit(.minutes(5)))
        func publisherNoDataUploadLimited() async throws {
            let scene = try QualityScenes.current().narrowUplink
            // At the latest this occurs when nothing passes. On a busy machine audio may not pass before either.
            try await scene.isNotified(scene.publisher, "no-data", "upload-limited", step: 1)
        }

        @Test(
            "Publisher, All, None: Good internet connection and no quality reduction in effect.",
            .timeLimit(.minutes(5)))
        func publisherGood() async throws {
            let scene = try QualityScenes.current().cut
            try await scene.isNotified(scene.publisher, "all", "none")
            // While its network was good, it received nothing else.
            let early = try await scene.earlyRows(of: scene.publisher)
            #expect(early.allSatisfy { $0["status"].text == "all" && $0["reason"].text == "none" })
        }

        @Test(
            "Publisher, All, UploadLimited: The publisher has a slow internet connection and the quality of the stream is reduced.",
            .timeLimit(.minutes(5)))
        func publisherUploadLimited() async throws {
            let scene = try QualityScenes.current().narrowUplink
            try await scene.isNotified(scene.publisher, "all", "upload-limited")
        }

        @Test(
            "Publisher, All, NetworkLimited: Subscribers have bad internet connections and the quality of the stream is reduced.",
            .timeLimit(.minutes(5)))
        func publisherNetworkLimited() async throws {
            let scene = try QualityScenes.current().narrowDownlink
            try await scene.isNotified(scene.publisher, "all", "network-limited")
        }

        @Test(
            "Publisher, AudioOnly, UploadLimited: The publisher has a bad internet connection and only audio is streamed.",
            .timeLimit(.minutes(5)))
        func publisherAudioOnly() async throws {
            let scene = try QualityScenes.current().narrowUplink
            try await scene.isNotified(scene.publisher, "audio-only", "upload-limited", step: 1)
        }

        @Test(
            "Publisher, AudioOnly, NetworkLimited: Subscribers have bad internet connections and only audio is streamed.",
            .timeLimit(.minutes(5)))
        func publisherAudioOnlyNetworkLimited() async throws {
            let scene = try QualityScenes.current().narrowDownlink
            try await scene.isNotified(scene.publisher, "audio-only", "network-limited", step: 1)
        }

        // MARK: Viewers

        @Test(
            "Viewer, NoData, None: The subscriber has a bad internet connection and no data is being received.",
            .timeLimit(.minutes(5)))
        func viewerNoData() async throws {
            let scene = try QualityScenes.current().cut
            try await scene.isNotified(scene.other, "no-data", "none")
        }

        @Test(
            "Viewer, NoData, DownloadLimited: The subscriber has a bad internet connection and no data is being received.",
            .timeLimit(.minutes(5)))
        func viewerNoDataDownloadLimited() async throws {
            let scene = try QualityScenes.current().narrowDownlink
            try await scene.isNotified(scene.other, "no-data", "download-limited", step: 1)
        }

        @Test(
            "Viewer, NoData, PublisherLimited: The publisher has a bad internet connection and no data is being received.",
            .timeLimit(.minutes(5)))
        func viewerNoDataPublisherLimited() async throws {
            let scene = try QualityScenes.current().cut
            try await scene.isNotified(scene.viewer, "no-data", "publisher-limited")
        }

        @Test(
            "Viewer, NoData, NetworkLimited: The network is limiting the quality of the stream and no data is being received.",
            .timeLimit(.minutes(5)))
        func viewerNoDataNetworkLimited() async throws {
            let scene = try QualityScenes.current().silent
            try await scene.isNotified(scene.viewer, "no-data", "network-limited")
        }

        @Test(
            "Viewer, All, None: Good internet connection and no quality reduction in effect.", .timeLimit(.minutes(5)))
        func viewerGood() async throws {
            let scene = try QualityScenes.current().cut
            try await scene.isNotified(scene.viewer, "all", "none")
            try await scene.isNotified(scene.other, "all", "none")
        }

        @Test(
            "Viewer, All, DownloadLimited: The subscriber has a bad internet connection and the quality of the stream is reduced.",
            .timeLimit(.minutes(5)))
        func viewerDownloadLimited() async throws {
            let scene = try QualityScenes.current().narrowDownlink
            try await scene.isNotified(scene.other, "all", "download-limited")
        }

        @Test(
            "Viewer, All, PublisherLimited: The publisher has a bad internet connection and the quality of the stream is reduced.",
            .timeLimit(.minutes(5)))
        func viewerPublisherLimited() async throws {
            let scene = try QualityScenes.current().narrowUplink
            try await scene.isNotified(scene.viewer, "all", "publisher-limited")
        }

        @Test(
            "Viewer, All, NetworkLimited: Other subscribers have bad internet connections and the quality of the stream is reduced.",
            .timeLimit(.minutes(5)))
        func viewerNetworkLimited() async throws {
            let scene = try QualityScenes.current().narrowDownlink
            try await scene.isNotified(scene.viewer, "all", "network-limited")
        }

        @Test(
            "Viewer, AudioOnly, None: Audio only stream, good internet connection and no quality reduction in effect.",
            .timeLimit(.minutes(5)))
        func viewerAudioOnly() async throws {
            let shared = try SharedPlatform.current()
            let published = try await shared.publish()
            let watched = try await shared.watch(published.publisher.streamID)
            let row = try await Self.first(of: watched) { $0 != DataQuality(status: .all, reason: .none) }
            #expect(row == DataQuality(status: .audioOnly, reason: .none))
            #expect(published.publisher.dataQuality == DataQuality(status: .all, reason: .none))
            await watched.close()
            await published.close()
        }

        @Test(
            "Viewer, AudioOnly, DownloadLimited: The subscriber has a bad internet connection and is only receiving audio.",
            .timeLimit(.minutes(5)))
        func viewerAudioOnlyDownloadLimited() async throws {
            let scene = try QualityScenes.current().narrowDownlink
            try await scene.isNotified(scene.other, "audio-only", "download-limited", step: 1)
        }

        @Test(
            "Viewer, AudioOnly, PublisherLimited: The publisher has a bad internet connection and the subscriber is only receiving audio.",
            .timeLimit(.minutes(5)))
        func viewerAudioOnlyPublisherLimited() async throws {
            let scene = try QualityScenes.current().narrowUplink
            try await scene.isNotified(scene.viewer, "audio-only", "publisher-limited", step: 1)
        }

        @Test(
            "Viewer, AudioOnly, NetworkLimited: The network is limiting the quality of the stream and the subscriber is only receiving audio.",
            .timeLimit(.minutes(5)))
        func viewerAudioOnlyNetworkLimited() async throws {
            let scene = try QualityScenes.current().narrowDownlink
            try await scene.isNotified(scene.viewer, "audio-only", "network-limited", step: 1)
        }

        // MARK: Notifications

        @Test(
            "If you like to show the user feedback about how their internet connectivity affects the stream quality, you can listen for data quality notifications.",
            .timeLimit(.minutes(5)))
        func notifications() async throws {
            let shared = try SharedPlatform.current()
            let published = try await shared.publish()
            let watched = try await shared.watch(published.publisher.streamID)
            let renderer = watched.stream.createRenderer(.nullDevices)
            let received = Awaited<String>()
            renderer.setDataQualityChangedCallback { received.add("\($1.rawValue) \($2.rawValue)") }
            #expect(renderer.start() == .ok)
            let row = try await Self.first(of: watched) { $0.status == .audioOnly }
            #expect(row.reason == .none)
            // Earlier listeners received a callback, and later ones read the current state.
            #expect(renderer.dataQuality == row)
            #expect(received.values.allSatisfy { $0 == "audio-only none" })
            await watched.close()
            await published.close()
        }

        /// Returns the current data quality if it matches, or the next one that does.
        private static func first(
            of watched: SharedPlatform.Watched, where matches: @escaping @Sendable (DataQuality) -> Bool
        ) async throws -> DataQuality {
            let changes = watched.stream.dataQualities
            if matches(watched.stream.dataQuality) { return watched.stream.dataQuality }
            return try #require(await changes.first(where: matches))
        }
    }
}
