# Chat rows of drawn words, the same on every machine: awk -v ROWS=100000 -f tests/bench/chat_rows.awk
function draw(n) {  # the generator of Park and Miller: no product leaves what a double holds exactly
    state = (state * 16807) % 2147483647
    return state % n
}
function text(n,    line, i) {
    for (i = 0; i < n; i++)
        line = line (i ? " " : "") word[1 + draw(n_words)] (draw(9) ? "" : ",")
    return line "."
}
function turn(role, n) {
    return "{\"role\": \"" role "\", \"content\": \"" text(n) "\"}"
}
BEGIN {
    n_words = split("the of and to in is that for it as was with be by on not he his but at are this have from or had an they which one you were all her she there would their we him been has when who will no more if out so what up said about into than them can only other time new some could these two may first then do any like my now over such our man me even most made after also did many off before must well back through years much where your way down should because long each just state those people too little good make world very year still see own work men day get here between both life being under three never know same last another while us might great go come since against right came take used himself few house place during high without again home around small however found thought went say part once general upon school every united left number course war until always away something fact water though less public put think almost hand enough took far head yet government system set better nothing night end why called eyes find going look asked later knew point next city business give group toward young let room side social given order several national second possible rather per face among form important often things looked early white case large big need within felt children along saw best church ever least power development light thing family interest seemed want members mind country area others although turned done open service certain kind different problem began thus door help sense means whole matter München 北京 naïve 3.14 2026 don't isn't https://example.org/a?b=c {x} 🙂", word, " ")
    state = 20240117
    for (row = 0; row < ROWS; row++) {
        line = "{\"messages\": [" turn("system", 8)
        for (turns = 1 + draw(3); turns > 0; turns--)
            line = line ", " turn("user", 10 + draw(30)) ", " turn("assistant", 20 + draw(60))
        print line "]}"
    }
}
