import ArgumentParser
import Foundation
import PCastCore
import PCastDevices
import PCastIO
import PCastJSON

/// `pcast-bench capture-worker` is a process of `pcast-bench capture` whose CPU time is measured.
struct CaptureWorkerCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "capture-worker", abstract: "Capture and encode; started by “capture”.", shouldDisplay: false)

    enum Kind: String, ExpressibleByArgument { case memory, camera, drawing }

    @Option var kind: Kind
    @Option var frames: String?
    @Option var camera: String?
    @Option var width: Int
    @Option var height: Int
    @Option var rate: Int
    @Option var bitrate: Int64
    @Option var seconds: Int

    func run() async throws {
        let dimensions = Dimensions(width: width, height: height)
        let count = seconds * rate
        let source: any VideoSource =
            switch kind {
            case .memory:
                try MemoryCamera(path: frames ?? "", dimensions: dimensions, frameRate: rate, count: count)
            case .camera:
                try VideoInput(
                    VideoRequest(
                        .camera(id: camera),
                        constraints: [
                            .width: [DeviceConstraint(.number(Double(width)), kind: .exact)],
                            .height: [DeviceConstraint(.number(Double(height)), kind: .exact)],
                            .frameRate: [DeviceConstraint(.number(Double(rate)), kind: .exact)],
                        ]))
            case .drawing: SyntheticVideoSource(dimensions: dimensions, frameRate: rate)
            }
        let run = CaptureRun(
            source: source, bitrate: .kilobits(bitrate), duration: .seconds(Int64(seconds)), encodes: kind != .drawing)
        StandardOutput.write(try await run.run().text + "\n")
    }
}
