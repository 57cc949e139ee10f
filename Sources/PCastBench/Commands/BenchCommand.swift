import ArgumentParser

/// The program `pcast-bench`.
struct BenchCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "pcast-bench",
        abstract: "Measure PCast, and emulate bad networks.",
        discussion: """
            Each measurement prints a table. With --json, it prints an event “row” for each row and an event \
            “result” at the end. The exit status is 0 if every target holds, otherwise 1.
            """,
        subcommands: [
            LatencyCommand.self, JoinCommand.self, AllocationsCommand.self, PacketsCommand.self, CaptureCommand.self,
            NetworksCommand.self, ImpairCommand.self, CaptureWorkerCommand.self, BulkWorkerCommand.self,
            LightViewersCommand.self, SessionsCommand.self, FanOutCommand.self, ShardsCommand.self, ScalingCommand.self,
            JoinStormCommand.self, MeetingCommand.self, IdleCommand.self, RelayLatencyCommand.self,
            SoakCommand.self, RenderCommand.self, RenderWorkerCommand.self, PlaybackCommand.self, OverlayCommand.self,
            TimelineBenchCommand.self, HLSRulesCommand.self, HLSCommand.self, IngestCommand.self,
            SourcesCommand.self, RecordingsCommand.self, ViewersCommand.self, HeadlineCommand.self, RoomsCommand.self,
            CodecCostCommand.self, CodecCostWorkerCommand.self, HEVCCommand.self,
            ClusterCommand.self, ClusterClientsCommand.self, ClusterCostCommand.self,
        ])
}
