import ArgumentParser

/// The output format of a measurement.
struct ReportOptions: ParsableArguments {
    @Flag(help: "One JSON object a line on standard output.")
    var json = false
}
