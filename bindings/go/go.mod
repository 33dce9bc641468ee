module libspark

go 1.19
