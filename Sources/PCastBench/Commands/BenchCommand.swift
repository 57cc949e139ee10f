import ArgumentParser

/// The program `pcast-bench`.
struct BenchCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "pcast-bench",
        abstract: "Measure PCast, and make bad networks.",
        discussion: """
            Every measurement prints a table, or with --json an event “row” for each of its rows and an event “result” \
            at the end. It exits with 0 when every target holds, else with 1.
            """,
        subcommands: [
            LatencyCommand.self, JoinCommand.self, AllocationsCommand.self, PacketsCommand.self, CaptureCommand.self,
            NetworksCommand.self, ImpairCommand.self, CaptureWorkerCommand.self, BulkWorkerCommand.self,
            LightViewersCommand.self, SessionsCommand.self, FanOutCommand.self, ShardsCommand.self, ScalingCommand.self,
            JoinStormCommand.self, MeetingCommand.self, IdleCommand.self, RelayLatencyCommand.self,
            SoakCommand.self, RenderCommand.self, RenderWorkerCommand.self, PlaybackCommand.self, OverlayCommand.self,
            TimelineBenchCommand.self,
        ])
}
