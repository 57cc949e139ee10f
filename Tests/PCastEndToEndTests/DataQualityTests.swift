import Foundation
import Testing

extension EndToEnd {
    /// Rows of the data quality's tables, told by real programs over a network that becomes bad.
    @Suite("Data quality")
    struct DataQualityTests {
        /// Programs have started by then, and streams have settled.
        private static let onset = 15.0
        private static let patience = Duration.seconds(25)

        @Test(
            "The publisher's network is cut for 4 s: NoData to both, and it goes on by itself", .timeLimit(.minutes(2)))
        func publisherCut() async throws {
            try await Workplace.run { place in
                let network = try await ImpairedPlatform.start(in: place, changes: ["15s down", "19s up"])
                let (publisher, viewer) = try await network.stream(isPublisherBad: true)
                async let told = publisher.quality(
                    "no-data", ["none", "upload-limited"], of: network, since: Self.onset, within: Self.patience)
                async let viewerTold = viewer.quality(
                    "no-data", ["publisher-limited"], of: network, since: Self.onset, within: Self.patience)
                let delays = try await (told, viewerTold)
                print("a publisher's network is cut: told it after \(delays.0) s, its viewer after \(delays.1) s")
                #expect(delays.0 < 3 && delays.1 < 3)
                _ = try await publisher.quality("all", ["none"], of: network, since: 19, within: Self.patience)
                _ = try await viewer.quality("all", ["none"], of: network, since: 19, within: Self.patience)
                #expect(viewer.qualities.allSatisfy { $0 == "no-data publisher-limited" || $0 == "all none" })
                let before = viewer.events("stats").last?["framesRendered"].number ?? 0
                _ = try await viewer.event("stats") { ($0["framesRendered"].number ?? 0) > before + 20 }
            }
        }

        @Test("A viewer's network is cut for 4 s: NoData to it, nothing to its publisher", .timeLimit(.minutes(2)))
        func viewerCut() async throws {
            try await Workplace.run { place in
                let network = try await ImpairedPlatform.start(in: place, changes: ["15s down", "19s up"])
                let (publisher, viewer) = try await network.stream(isPublisherBad: false)
                let delay = try await viewer.quality(
                    "no-data", ["none"], of: network, since: Self.onset, within: Self.patience)
                print("a viewer's network is cut: told it after \(delay) s")
                #expect(delay < 3)
                _ = try await viewer.quality("all", ["none"], of: network, since: 19, within: Self.patience)
                #expect(publisher.qualities.isEmpty)
            }
        }

        @Test(
            "A viewer's network narrows to 100 kbit/s: AudioOnly to it and, as its only one, to its publisher",
            .timeLimit(.minutes(2)))
        func viewerNarrow() async throws {
            try await Workplace.run { place in
                let network = try await ImpairedPlatform.start(in: place, changes: ["15s rate=100k", "25s rate=none"])
                let (publisher, viewer) = try await network.stream(isPublisherBad: false)
                async let told = viewer.quality(
                    "audio-only", ["download-limited"], of: network, since: Self.onset, within: Self.patience)
                async let publisherTold = publisher.quality(
                    "audio-only", ["network-limited"], of: network, since: Self.onset, within: Self.patience)
                let delays = try await (told, publisherTold)
                print("a viewer's network narrows: told it after \(delays.0) s, the publisher after \(delays.1) s")
                #expect(publisher.qualities.allSatisfy { $0.hasSuffix("network-limited") })
                #expect(viewer.qualities.allSatisfy { $0.hasSuffix("download-limited") })
                _ = try await viewer.quality("all", ["none"], of: network, since: 25, within: .seconds(60))
                _ = try await publisher.quality("all", ["none"], of: network, since: 25, within: .seconds(60))
            }
        }

        @Test(
            "The publisher's network narrows to 600 kbit/s: UploadLimited to it, PublisherLimited to its viewer",
            .timeLimit(.minutes(2)))
        func publisherNarrow() async throws {
            try await Workplace.run { place in
                let network = try await ImpairedPlatform.start(
                    in: place, changes: ["15s rate=600k", "25s rate=none"])
                let (publisher, viewer) = try await network.stream(isPublisherBad: true)
                async let told = publisher.quality(
                    "all", ["upload-limited"], of: network, since: Self.onset, within: Self.patience)
                async let viewerTold = viewer.quality(
                    "all", ["publisher-limited"], of: network, since: Self.onset, within: Self.patience)
                let delays = try await (told, viewerTold)
                print("a publisher's network narrows: told it after \(delays.0) s, its viewer after \(delays.1) s")
                _ = try await publisher.quality("all", ["none"], of: network, since: 25, within: .seconds(60))
                _ = try await viewer.quality("all", ["none"], of: network, since: 25, within: .seconds(60))
                #expect(publisher.qualities.dropLast().allSatisfy { $0.hasSuffix("upload-limited") })
                #expect(viewer.qualities.dropLast().allSatisfy { $0.hasSuffix("publisher-limited") })
            }
        }
    }
}
