extension ConstraintCandidate where Configuration == AudioConfiguration {
    init(device: SourceDevice, order: Int, sound: AudioCapabilities, aims: CapabilityAims) {
        let layoutAim = aims[.audioChannelLayout]
        let layout = SettingAim(layoutAim).settle(
            [.channelLayout(.stereo), .channelLayout(.mono)], instead: nil, lack: "it is not a channel layout")
        let patterns = PolarPattern.allCases.filter(sound.polarPatterns.contains)
        let pattern = SettingAim(aims[.polarPattern]).settle(
            [.polarPattern(.automatic)] + patterns.map { .polarPattern($0) },
            instead: patterns.first.map { .polarPattern($0) },
            lack: patterns.isEmpty
                ? "its polar pattern is unknown" : "it is \(patterns.map(\.rawValue).joined(separator: " or "))")
        let echo = SettingAim(aims[.audioEchoCancellationMode]).settle(
            [.echoCancellation(.automatic), .echoCancellation(.off)]
                + (sound.canCancelEcho ? [.echoCancellation(.on)] : []), instead: nil,
            lack: "it is not a microphone, so it has no echo")
        var configuration = AudioConfiguration()
        if case .channelLayout(let layout) = layout.value { configuration.channels = layout }
        if case .polarPattern(let pattern) = pattern.value { configuration.polarPattern = pattern }
        if case .echoCancellation(let mode) = echo.value { configuration.echoCancellation = mode }
        var rank = FitnessRank()
        let isDoubled = configuration.channels.channels > sound.channels.upperBound
        rank.doubledChannels = layoutAim.isNamed && isDoubled ? 1 : 0
        self.init(
            device: device, order: order, rank: rank,
            settings: device.placed(by: aims) + [layout.fit, pattern.fit, echo.fit], others: [],
            configuration: configuration, text: configuration.channels.rawValue + (isDoubled ? ", of one channel" : ""))
    }
}
