import PCastCore

/// The combined statistics of light viewers.
struct LightViewingMetrics: Sendable {
    /// The number of viewers that have received video and audio since counting began and whose sessions have not ended.
    private(set) var watching = 0
    private(set) var packets = 0
    /// The sums of the statistics of `PacketWitness`.
    private(set) var missing = 0
    private(set) var overtaken = 0
    private(set) var repeated = 0
    private(set) var backwards = 0
    /// Packets requested by NACK since the viewers joined.
    private(set) var requested = 0
    /// The complete frames of the viewer with the fewest, and of the viewer with the most.
    private(set) var fewestPictures: Int?
    private(set) var mostPictures = 0
    private(set) var longestVideoStep = TimeSpan.zero
    private(set) var longestAudioStep = TimeSpan.zero
    /// The latencies of video frames.
    private(set) var lags = LagHistogram()
    /// Datagrams that were not authentic.
    private(set) var rejected = 0
    /// The delays of packets from the publisher's sending to arrival.
    private(set) var delays = DelayHistogram()
    /// Datagrams that the kernel dropped because the viewers' thread did not read in time.
    var ownDrops = 0

    init(_ viewers: [LightViewer]) {
        for viewer in viewers {
            watching += viewer.isWatching ? 1 : 0
            requested += viewer.requested
            rejected += viewer.rejected
            delays.add(viewer.delays)
            for witness in [viewer.video, viewer.audio] {
                packets += witness.packets
                missing += witness.missing
                overtaken += witness.overtaken
                repeated += witness.repeated
                backwards += witness.backwards
            }
            fewestPictures = min(fewestPictures ?? .max, viewer.video.frames)
            mostPictures = max(mostPictures, viewer.video.frames)
            longestVideoStep = max(longestVideoStep, viewer.video.longestStep)
            longestAudioStep = max(longestAudioStep, viewer.audio.longestStep)
            lags.add(viewer.video.lags)
        }
    }

    /// The keys of `named`.
    static var names: [String] { LightViewingMetrics([]).named.map(\.key) }

    /// The statistics as named values for a report.
    var named: [(key: String, value: Double?)] {
        [
            ("lightViewers", Double(watching)), ("lightPackets", Double(packets)), ("lightMissing", Double(missing)),
            ("lightOvertaken", Double(overtaken)), ("lightRepeated", Double(repeated)),
            ("lightRequested", Double(requested)), ("lightBackwards", Double(backwards)),
            ("lightFewestPictures", fewestPictures.map(Double.init)), ("lightMostPictures", Double(mostPictures)),
            ("lightVideoStep", longestVideoStep.milliseconds), ("lightAudioStep", longestAudioStep.milliseconds),
            ("lightLagP50", lags.percentile(0.5)), ("lightLagP99", lags.percentile(0.99)),
            ("lightOwnDrops", Double(ownDrops)),
        ]
    }
}
