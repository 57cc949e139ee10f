import PCastMedia

/// What light viewers saw, all together.
struct LightViewingFigures: Sendable {
    /// How many have had pictures and sound since counting began, and are still there.
    private(set) var watching = 0
    private(set) var packets = 0
    /// See `PacketWitness`.
    private(set) var missing = 0
    private(set) var overtaken = 0
    private(set) var repeated = 0
    private(set) var backwards = 0
    /// Packets that were asked for again since they joined.
    private(set) var requested = 0
    /// Whole pictures of the viewer that had the fewest, and of the one that had the most.
    private(set) var fewestPictures: Int?
    private(set) var mostPictures = 0
    private(set) var longestVideoStep = TimeSpan.zero
    private(set) var longestAudioStep = TimeSpan.zero
    /// Of pictures.
    private(set) var lags = LagHistogram()
    /// Datagrams that were not authentic.
    private(set) var rejected = 0
    /// From a packet's leaving its publisher until it came.
    private(set) var delays = DelayHistogram()
    /// Datagrams that the kernel dropped because the viewers' thread was late.
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

    /// What `named` has.
    static var names: [String] { LightViewingFigures([]).named.map(\.key) }

    /// For a report.
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
