import Foundation

/// OBS Studio on a virtual display, which streams a scene of one color.
struct OBS: Sendable {
    private let program: RunningProgram

    /// Starts OBS, which streams to a server of the service `Custom…`.
    static func start(server: String, on platform: RecipePlatform) async throws -> OBS {
        let workspace = platform.workspace
        let display = try workspace.start(
            "/usr/bin/Xvfb", ["-displayfd", "1", "-nolisten", "tcp", "-noreset", "-screen", "0", "1280x720x24"])
        guard let number = await display.output.lines.first() else {
            throw EndToEndFailure("there is no display\n\(display.report)")
        }
        let home = workspace.path("obs")
        try configure(home, server: server)
        let program = try platform.run(
            "obs",
            [
                "--multi", "--startstreaming", "--profile", "Recipe", "--collection", "Recipe", "--minimize-to-tray",
            ],
            environment: [
                "HOME": home, "DISPLAY": ":\(number)", "QT_QPA_PLATFORM": "xcb", "LIBGL_ALWAYS_SOFTWARE": "1",
            ])
        return OBS(program: program)
    }

    func end() async throws { try await program.end() }

    /// Writes the settings that the README recommends: x264, a key frame each second and no B-frames.
    private static func configure(_ home: String, server: String) throws {
        let folder = "\(home)/.config/obs-studio"
        let service = try JSONSerialization.data(
            withJSONObject: ["type": "rtmp_custom", "settings": ["server": server, "key": ""]])
        let scene = """
            {"name":"Recipe","current_scene":"Scene","current_program_scene":"Scene","scene_order":[{"name":"Scene"}],
             "sources":[
              {"id":"color_source","versioned_id":"color_source_v3","name":"Color",
               "settings":{"color":4282434815,"width":1280,"height":720}},
              {"id":"scene","name":"Scene","settings":{"id_counter":1,"items":[{"name":"Color","id":1,"visible":true}]}}]}
            """
        let files: [(String, Data)] = [
            (
                "global.ini",
                Data(
                    """
                    [General]
                    FirstRun=true
                    [Basic]
                    Profile=Recipe
                    ProfileDir=Recipe
                    SceneCollection=Recipe
                    SceneCollectionFile=Recipe
                    """.utf8)
            ),
            (
                "basic/profiles/Recipe/basic.ini",
                Data(
                    """
                    [General]
                    Name=Recipe
                    [Output]
                    Mode=Simple
                    [SimpleOutput]
                    StreamEncoder=x264
                    Preset=ultrafast
                    UseAdvanced=true
                    x264Settings=keyint=30 bframes=0 tune=zerolatency
                    VBitrate=1500
                    [Video]
                    BaseCX=1280
                    BaseCY=720
                    OutputCX=640
                    OutputCY=360
                    FPSCommon=30
                    """.utf8)
            ),
            ("basic/profiles/Recipe/service.json", service),
            ("basic/scenes/Recipe.json", Data(scene.utf8)),
        ]
        for (name, contents) in files {
            let file = URL(fileURLWithPath: "\(folder)/\(name)")
            try FileManager.default.createDirectory(
                at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
            try contents.write(to: file)
        }
    }
}
